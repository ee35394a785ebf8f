/** Entry of a worker thread: see composeThread. */
import { composeThread } from './compose.ts';

await composeThread();
