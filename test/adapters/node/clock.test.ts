import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { test } from 'node:test';
import { createSystemClock } from '../../../src/adapters/node/clock.ts';
import { createRandom } from '../../../src/adapters/node/random.ts';

test('a timer never fires before its time, and in order of due time', async () => {
  const clock = createSystemClock();
  const random = createRandom(3);
  const fired: { readonly dueMsMin: number; readonly dueMsMax: number }[] = [];
  await Promise.all(
    Array.from({ length: 300 }, () => {
      const delayMs = random.next() * 40;
      return new Promise<void>((resolve) => {
        const dueMsMin = clock.nowMonoMs() + delayMs;
        clock.setTimer(delayMs, () => {
          assert.ok(clock.nowMonoMs() >= dueMsMin);
          fired.push({ dueMsMin, dueMsMax });
          resolve();
        });
        const dueMsMax = clock.nowMonoMs() + delayMs;
      });
    }),
  );
  const misplaced = fired.filter(({ dueMsMax }, i) => i > 0 && dueMsMax < fired[i - 1]!.dueMsMin);
  assert.deepEqual(misplaced, []);
});

test('a cancelled timer never fires, however many are cancelled and whoever cancels', async () => {
  const clock = createSystemClock();
  const fired: string[] = [];
  const cancels = Array.from({ length: 500 }, (_, i) => clock.setTimer(i % 5, () => fired.push(`cancelled ${i}`)));
  for (const cancel of cancels) {
    cancel();
    cancel();
  }
  let cancelLater = () => {};
  clock.setTimer(1, () => cancelLater());
  cancelLater = clock.setTimer(1, () => fired.push('cancelled by the timer before it'));
  await new Promise<void>((resolve) => clock.setTimer(10, resolve));
  assert.deepEqual(fired, []);
});

test('a timer of 0 ms fires when the current work is done, and lets I/O have its turn', async () => {
  const clock = createSystemClock();
  const order: string[] = [];
  await new Promise<void>((resolve) => {
    clock.setTimer(0, () => {
      order.push('timer');
      clock.setTimer(0, () => {
        order.push('timer set by a timer');
        resolve();
      });
      setImmediate(() => order.push('other work'));
    });
    order.push('current work');
  });
  assert.deepEqual(order.slice(0, 2), ['current work', 'timer']);
  assert.ok(order.includes('timer set by a timer'));
});

test('monotonic time never goes back', () => {
  const clock = createSystemClock();
  let last = clock.nowMonoMs();
  for (let i = 0; i < 10_000; i++) {
    const now = clock.nowMonoMs();
    assert.ok(now >= last);
    last = now;
  }
});

const module = new URL('../../../src/adapters/node/clock.ts', import.meta.url).href;

/** Runs a script that has `clock` in a process of its own; the result says how it ended. */
function run(script: string): { output: string; timedOut: boolean; status: number | null } {
  const source = `import { createSystemClock } from ${JSON.stringify(module)}; ${script}`;
  const child = spawnSync(process.execPath, ['--input-type=module', '-e', source], { encoding: 'utf8', timeout: 20_000 });
  return { output: child.stdout, timedOut: child.signal !== null, status: child.status };
}

test('waiting timers keep the process alive only while they are told to', () => {
  const hour = 'clock.setTimer(3_600_000, () => console.log("fired"));';
  assert.deepEqual(run(`const clock = createSystemClock({ keepAlive: false }); ${hour}`), { output: '', timedOut: false, status: 0 });
  assert.deepEqual(run(`const clock = createSystemClock(); ${hour} clock.keepAlive(false);`), { output: '', timedOut: false, status: 0 });
  assert.deepEqual(run(`const clock = createSystemClock(); clock.setTimer(3_600_000, () => {})();`), {
    output: '',
    timedOut: false,
    status: 0,
  });
  const soon = run('const clock = createSystemClock(); clock.setTimer(20, () => console.log("fired"));');
  assert.equal(soon.output, 'fired\n');
});

test('a timer that throws does not take the others with it', () => {
  const script = `const clock = createSystemClock();
    process.on('uncaughtException', (error) => console.log(error.message));
    clock.setTimer(1, () => { throw new Error('first'); });
    clock.setTimer(1, () => console.log('second'));`;
  assert.equal(run(script).output, 'first\nsecond\n');
});
