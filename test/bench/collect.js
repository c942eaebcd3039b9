/** Preloaded into the service by the soak: SIGUSR2 asks for a full collection, after which memory is what the service holds. */
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'

setFlagsFromString('--expose-gc')
const collect = runInNewContext('gc')
process.on('SIGUSR2', () => {
  collect()
  collect()
})
