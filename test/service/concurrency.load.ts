import { rm } from 'node:fs/promises'
import { expect } from 'chai'
import { concurrencyRules } from '../support/concurrency-rules.ts'
import { newDataDir, spawnGrove, startGrove } from '../support/grove.ts'
import { faultsIn } from '../support/log.ts'

describe('many who write at once', () => {
  describe('to one process', () => {
    concurrencyRules(async () => {
      const { url, dataDir, close } = await startGrove()
      return { dataDir, urls: [url], close }
    })
  })

  describe('to two workers that share a port', () => {
    concurrencyRules(async () => {
      const dataDir = await newDataDir()
      const grove = await spawnGrove(dataDir, { WORKERS: '2' })
      const close = async () => {
        const code = await grove.stop()
        await rm(dataDir, { recursive: true, force: true })
        expect({ code, faults: faultsIn(grove.output().stderr) }).to.deep.equal({ code: 0, faults: [] })
      }
      return { dataDir, urls: [grove.url], close }
    })
  })
})
