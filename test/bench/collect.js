/**
 * Preloaded into the service by the soak test. SIGUSR2 runs a full garbage collection, after which the memory in use is
 * what the service holds. The collection compacts. Otherwise V8 would keep half-empty pages, and memory that caches
 * have dropped would count as held.
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
