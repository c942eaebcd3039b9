/**
 * Lets workers of mocha start programs without copying memory (vfork.cc). Services and commands start programs as in
 * production.
 */

import { compiled } from './faults.ts'

/** Preloads vfork.cc into the processes that this one starts with its environment: mocha's workers. */
export function preloadVfork(): void {
  if (process.platform !== 'linux' || process.arch !== 'x64') return
  process.env.LD_PRELOAD = compiled('vfork.cc', '-shared', '-fPIC')
}
