/** The tour of spec/README.md, through nginx as the README of cells has it, asked of each of three cells, of which one has the organisation. */

import { readdir, readFile, rm } from 'node:fs/promises'
import { expect } from 'chai'
import { isId } from '../../server/domain/layout.ts'
import { builtClone } from '../readme/clone.ts'
import { tour } from '../readme/tour.ts'
import { newDataDir } from '../support/data-folder.ts'
import { databaseFor } from '../support/postgres.ts'
import { type SpawnedGrove, spawnGrove } from '../support/spawned-grove.ts'
import {
  type Certificate,
  freePort,
  newCertificate,
  proxies,
  type RunningProxy,
  removeCertificate,
  signUp,
  upstreamOf,
} from './scene.ts'

const names = ['a', 'b', 'c'] as const
const METRICS_TOKEN = 'the.secret.of.a.scrape'

interface Cell {
  readonly name: string
  readonly port: number
  readonly grove: SpawnedGrove
  readonly environment: Record<string, string>
}

describe('the tour through nginx and a cell', () => {
  /** The output of the first one, block by block. */
  let first: readonly string[] | undefined

  for (const at of [0, 1])
    it(`${at === 0 ? 'that has the organisation' : 'that passes it on'} says what it says anywhere`, async () => {
      const clone = await builtClone()
      const certificate = await newCertificate()
      const port = await freePort()
      const base = `https://localhost:${port}`
      const cells: Cell[] = []
      let proxy: RunningProxy | undefined
      try {
        const shared = {
          DATABASE_URL: await databaseFor(clone),
          PUBLIC_URL: base,
          TRUST_PROXY: '127.0.0.1',
          METRICS_TOKEN,
        }
        for (const name of names) cells.push(await startCell(name, shared))
        const upstreams = await upstreamOf(cells.map(({ port }) => port))
        proxy = await proxies.nginx?.({ certificate, port, upstream: 0, prefix: '', cells: upstreams })
        const home = await cellOfStrangers(base, certificate, cells)
        const asked = cells[(cells.indexOf(home) + at) % cells.length] ?? home
        const authorities = ['CURL_CA_BUNDLE', 'GIT_SSL_CAINFO', 'NODE_EXTRA_CA_CERTS'].map((name) => [
          name,
          certificate.certificate,
        ])
        const environment = { ...home.environment, ...Object.fromEntries(authorities) }
        const others = cells.filter((cell) => cell !== asked)
        const said = masked(
          await tour(clone, base, { more: environment, afterSignUp: takeOut(certificate, port, others) }),
        )
        expect(said).to.have.length(11)
        expect(said[3]).to.include('"status": "merged"')
        expect(await passedOn(asked), 'requests that the cell has passed on').to.equal(asked !== home)
        for (const other of others) expect(await passedOn(other)).to.equal(false)
        first ??= said
        expect(said).to.deep.equal(first)
      } finally {
        await proxy?.stop()
        for (const { grove } of cells) {
          await grove.stop()
          await rm(grove.dataDir, { recursive: true, force: true })
        }
        await removeCertificate(certificate)
        await rm(clone, { recursive: true, force: true })
      }
    })
})

async function startCell(name: string, shared: Record<string, string>): Promise<Cell> {
  const [dataDir, port] = [await newDataDir(), await freePort()]
  const own = { ...shared, CELL: name, CELL_URL: `http://127.0.0.1:${port}` }
  const grove = await spawnGrove(dataDir, { ...own, PORT: String(port) })
  return { name, port, grove, environment: { ...own, DATA_DIR: dataDir } }
}

/** A person's organisation is made where the person signs up: nginx chooses that by the client's address. */
async function cellOfStrangers(base: string, { certificate }: Certificate, cells: readonly Cell[]): Promise<Cell> {
  const { status } = await signUp(base, await readFile(certificate), 'somebody', {})
  expect(status).to.equal(201)
  for (const cell of cells) if ((await readdir(cell.grove.dataDir)).some(isId)) return cell
  throw new Error('No cell has an organisation')
}

/** Shell: from now on nginx has one cell left, and no process of it that knows the others. */
function takeOut({ folder }: Certificate, port: number, others: readonly Cell[]): string {
  const file = `${folder}/nginx-${port}.conf`
  const changes = others.map((other) => `-e 's/server 127.0.0.1:${other.port};/server 127.0.0.1:${other.port} down;/'`)
  return `former=$(pgrep -P "$(cat ${folder}/nginx.pid)")
sed -i ${changes.join(' ')} ${file}
nginx -s reload -c ${file} -p ${folder} 2> /dev/null
for one in $former; do while kill -0 "$one" 2> /dev/null; do sleep 0.05; done; done
`
}

async function passedOn({ grove }: Cell): Promise<boolean> {
  const answer = await fetch(`${grove.url}/metrics`, { headers: { authorization: `Bearer ${METRICS_TOKEN}` } })
  return /^grove_forwarded_total\{.*outcome="done".*\} [1-9]/m.test(await answer.text())
}

/** With placeholders for what differs from run to run: ids, hashes, times, the address and scores. */
function masked(blocks: readonly string[]): string[] {
  return blocks.map((block) =>
    block
      .replace(/[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}/g, 'ID')
      .replace(/\b(?=[0-9a-f]*\d)[0-9a-f]{7}\b|\b[0-9a-f]{40}\b/g, 'HASH')
      .replace(/\d{4}-\d\d-\d\dT[\d:.]+Z/g, 'TIME')
      .replace(/localhost:\d+/g, 'ADDRESS')
      .replace(/"score": [\d.]+/g, 'SCORE')
      .replace(/^index [0-9a-f]+\.\.[0-9a-f]+/gm, 'index'),
  )
}
