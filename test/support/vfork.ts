/**
 * Lets the processes of mocha start programs without copying memory (vfork.cc). Services and commands start programs as in
 * production.
 */

import { compiled } from './faults.ts'

/** Returns variables that preload vfork.cc into a process, and not into those that it starts. */
export function withVfork(): NodeJS.ProcessEnv {
  if (process.platform !== 'linux' || process.arch !== 'x64') return {}
  return { LD_PRELOAD: compiled('vfork.cc', '-shared', '-fPIC') }
}
