/**
 * Preloaded into the service by the soak: SIGUSR2 asks for a full collection, after which memory is what the service holds.
 * It compacts: V8 leaves pages that are half empty as they are, and what caches have dropped would count as held.
 */
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'

setFlagsFromString('--expose-gc')
const collect = runInNewContext('gc')
process.on('SIGUSR2', () => {
  setFlagsFromString('--compact-on-every-full-gc')
  collect()
  collect()
  setFlagsFromString('--no-compact-on-every-full-gc')
})
