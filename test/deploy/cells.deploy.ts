/** Three cells on one PostgreSQL, behind nginx as the README of cells has it. */

import { readdir, readFile, rm } from 'node:fs/promises'
import { expect } from 'chai'
import { newDataDir } from '../support/data-folder.ts'
import { type Desk, newDesk } from '../support/desk.ts'
import { databaseFor } from '../support/postgres.ts'
import { type SpawnedGrove, spawnGrove } from '../support/spawned-grove.ts'
import { until } from '../support/until.ts'
import {
  type Asking,
  askJson,
  type Certificate,
  freePort,
  newCertificate,
  proxies,
  type RunningProxy,
  removeCertificate,
  signUp,
  upstreamOf,
} from './scene.ts'

interface Cell {
  readonly dataDir: string
  readonly port: number
  grove: SpawnedGrove
}

interface Person {
  readonly org: string
  readonly headers: { readonly authorization: string }
}

describe('three cells behind nginx', () => {
  const cells: Cell[] = []
  let certificate: Certificate
  let ca: Buffer
  let proxy: RunningProxy | undefined
  let desk: Desk
  let base: string
  let people: readonly Person[]
  let databaseUrl: string

  before(async () => {
    certificate = await newCertificate()
    ca = await readFile(certificate.certificate)
    desk = await newDesk()
    const port = await freePort()
    base = `https://localhost:${port}`
    databaseUrl = await databaseFor(`${certificate.folder} cells`)
    for (const name of ['a', 'b', 'c']) {
      const [dataDir, port] = [await newDataDir(), await freePort()]
      cells.push({ dataDir, port, grove: await startCell(name, dataDir, port) })
    }
    const upstreams = await upstreamOf(cells.map(({ port }) => port))
    expect(upstreams).to.not.include('10.0.0.')
    proxy = await proxies.nginx?.({ certificate, port, upstream: 0, prefix: '', cells: upstreams })
    people = await Promise.all(Array.from({ length: 12 }, (_, n) => newPerson(`p${n}`, `127.0.1.${n + 1}`)))
  })
  after(async () => {
    await proxy?.stop()
    for (const { grove, dataDir } of cells) {
      await grove.stop()
      await rm(dataDir, { recursive: true, force: true })
    }
    await desk?.remove()
    await removeCertificate(certificate)
  })

  async function startCell(name: string, dataDir: string, port: number): Promise<SpawnedGrove> {
    const own = { CELL: name, CELL_URL: `http://127.0.0.1:${port}`, PORT: String(port), DATABASE_URL: databaseUrl }
    return spawnGrove(dataDir, { ...own, PUBLIC_URL: base, TRUST_PROXY: '127.0.0.1' })
  }
  const asked = (path: string, asking: Asking = {}) => askJson(`${base}${path}`, ca, asking)
  async function newPerson(name: string, from: string): Promise<Person> {
    const { body } = await signUp(base, ca, name, { from })
    return { org: body.user.org_id, headers: { authorization: `Bearer ${body.accessToken}` } }
  }
  /** By cell, the organisations in its folder. */
  const folders = () =>
    Promise.all(cells.map(async ({ dataDir }) => (await readdir(dataDir)).filter((name) => name.length === 36)))

  it('share the organisations, each of which is in one', async () => {
    const found = await folders()
    expect(found.flat().sort()).to.deep.equal(people.map(({ org }) => org).sort())
    expect(found.filter((some) => some.length > 0)).to.have.length.above(1)
  })

  it('answer for each organisation through the proxy, and through whichever cell is asked', async () => {
    for (const [n, { org, headers }] of people.entries()) {
      const body = { title: `Node ${n}`, text_content: `Of ${n}.` }
      const made = await asked(`/orgs/${org}/nodes`, { method: 'POST', headers, body })
      expect(made.status).to.equal(201)
      expect(made.headers.location).to.equal(`/orgs/${org}/nodes/${made.body.id}`)
      expect(made.body.clone_url).to.match(new RegExp(`^${base}/git/`))
      for (const { port } of cells) {
        const answer = await fetch(`http://127.0.0.1:${port}/orgs/${org}/nodes/${made.body.id}`, { headers })
        expect(((await answer.json()) as { title: string }).title).to.equal(`Node ${n}`)
      }
      const { body: mine } = await asked('/orgs', { headers })
      expect(mine.orgs.map(({ id }: { id: string }) => id)).to.deep.equal([org])
      if (n >= cells.length) continue
      const { body: key } = await asked('/auth/tokens', {
        method: 'POST',
        headers,
        body: { name: 'git', access: 'write' },
      })
      const url = made.body.clone_url.replace('://', `://p${n}:${key.token}@`)
      await desk.done(`export GIT_SSL_CAINFO=${certificate.certificate}
        git clone -q '${url}' n${n}; cd n${n}; echo More. >> content.md; git commit -qam More; git push -q origin main`)
      const text = await asked(`/orgs/${org}/nodes/${made.body.id}/tree/main/raw/content.md`, { headers })
      expect(text.text).to.equal(`Of ${n}.More.\n`)
    }
  })

  it('continue without one that was killed, which comes back with all that it had', async () => {
    const [lost] = cells
    if (lost === undefined) throw new Error('There is no cell')
    const [, ...others] = await folders()
    await lost.grove.kill()
    for (const { org, headers } of people) {
      const { status, body } = await asked(`/orgs/${org}`, { headers })
      if (others.flat().includes(org)) expect(status).to.equal(200)
      else expect([status, body.code]).to.deep.equal([503, 'busy'])
    }
    lost.grove = await startCell('a', lost.dataDir, lost.port)
    for (const { org, headers } of people)
      await until(async () => (await asked(`/orgs/${org}`, { headers })).status === 200)
  })
})
