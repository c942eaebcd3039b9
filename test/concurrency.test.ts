import { concurrencyRules } from './support/concurrency-rules.ts'
import { startGrove } from './support/grove.ts'

describe('many who write at once', () => {
  concurrencyRules(async () => {
    const { url, dataDir, close } = await startGrove()
    return { dataDir, urls: [url], close }
  }, 25)
})
