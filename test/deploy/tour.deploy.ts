/** The tour of the README, asked of each of three cells, of which the first has the organisation. */

import { rm } from 'node:fs/promises'
import { createServer, request, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { expect } from 'chai'
import { freshClone } from '../readme/clone.ts'
import { tour } from '../readme/tour.ts'
import { newDataDir, type SpawnedGrove, spawnGrove } from '../support/grove.ts'
import { databaseFor } from '../support/postgres.ts'
import { freePort } from './scene.ts'

const names = ['a', 'b', 'c'] as const

describe('the tour of the README through a cell', () => {
  /** What the first one has printed, block by block. */
  let first: readonly string[] | undefined

  for (const [at, name] of names.entries())
    it(`${at === 0 ? 'that has the organisation' : `${name}, which passes it on`} says what it says anywhere`, async () => {
      const clone = await freshClone()
      const databaseUrl = await databaseFor(clone)
      const cells: { grove: SpawnedGrove; environment: Record<string, string> }[] = []
      let router: Server | undefined
      try {
        for (const one of names) {
          const port = String(await freePort())
          const own = { CELL: one, CELL_URL: `http://127.0.0.1:${port}`, DATABASE_URL: databaseUrl }
          const dataDir = await newDataDir()
          cells.push({
            grove: await spawnGrove(dataDir, { ...own, PORT: port }),
            environment: { ...own, DATA_DIR: dataDir },
          })
        }
        const [home, asked] = [cells[0], cells[at]]
        if (home === undefined || asked === undefined) throw new Error('There is no cell')
        router = await routerTo(home.grove.url, asked.grove.url)
        const { port } = router.address() as AddressInfo // it listens on a port
        const said = masked(await tour(clone, `http://127.0.0.1:${port}`, home.environment))
        expect(said).to.have.length(10)
        expect(said[3]).to.include('"status": "merged"')
        first ??= said
        expect(said).to.deep.equal(first)
      } finally {
        router?.close()
        router?.closeAllConnections()
        for (const { grove } of cells) {
          await grove.stop()
          await rm(grove.dataDir, { recursive: true, force: true })
        }
        await rm(clone, { recursive: true, force: true })
      }
    })
})

/** A person's organisation is made where the person signs up: that goes to `home`, everything else to `asked`. */
function routerTo(home: string, asked: string): Promise<Server> {
  const router = createServer((req, res) => {
    const { method = 'GET', url = '/', headers } = req
    const passed = request((url === '/auth/signup' ? home : asked) + url, { method, headers }, (answer) => {
      res.writeHead(answer.statusCode ?? 502, answer.headers)
      answer.pipe(res)
    })
    passed.on('error', () => res.destroy())
    req.pipe(passed)
  })
  return new Promise((done) => router.listen(0, '127.0.0.1', () => done(router)))
}

/** Without what differs from run to run: ids, hashes, the address. */
function masked(blocks: readonly string[]): string[] {
  return blocks.map((block) =>
    block
      .replace(/[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}/g, 'ID')
      .replace(/\b(?=[0-9a-f]*\d)[0-9a-f]{7}\b|\b[0-9a-f]{40}\b/g, 'HASH')
      .replace(/127\.0\.0\.1:\d+/g, 'ADDRESS')
      .replace(/"score": [\d.]+/g, 'SCORE')
      .replace(/^index [0-9a-f]+\.\.[0-9a-f]+/gm, 'index'),
  )
}
