/** Entry of a worker thread: see composeThread. Compiled code is cached on disk per thread as well, which halves the start. */
import module from 'node:module';

module.enableCompileCache?.();
const { composeThread } = await import('./compose-thread.ts');
await composeThread();
