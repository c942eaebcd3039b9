/** Many who write at once to one process; `two-processes` is of several. */

import { concurrencyRules } from '../support/concurrency-rules.ts'
import { startGrove } from '../support/grove.ts'

describe('many who write at once to one process', () => {
  concurrencyRules(async () => {
    const { url, dataDir, close } = await startGrove()
    return { dataDir, urls: [url], close }
  })
})
