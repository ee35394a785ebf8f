import { createStaticOwnership } from '../../src/adapters/memory/ownership.ts';
import { ownershipContract } from './ownership.ts';

ownershipContract('static', createStaticOwnership);
