/** A worker of mocha starts programs without copying its memory: vfork.cc says how. Services and commands start them as in production. */

import { compiled } from './faults.ts'

/** For the processes that this one will start with its environment: mocha's workers. */
export function preloadVfork(): void {
  if (process.platform !== 'linux' || process.arch !== 'x64') return
  process.env.LD_PRELOAD = compiled('vfork.cc', '-shared', '-fPIC')
}
