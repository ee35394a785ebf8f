// Run by `npm ci` and `npm install` in a checkout: makes `npx portolan` this checkout's own command, without asking a registry.
import { mkdirSync, rmSync, symlinkSync } from 'node:fs';

const bin = new URL('../node_modules/.bin/', import.meta.url);
mkdirSync(bin, { recursive: true });
const link = new URL('portolan', bin);
rmSync(link, { force: true });
symlinkSync('../../bin/portolan.js', link);
