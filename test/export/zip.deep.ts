/** The export as a ZIP: what native programs read in it, and that an import takes it back. */

import { execFileSync } from 'node:child_process'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { buffer } from 'node:stream/consumers'
import { expect } from 'chai'
import fc from 'fast-check'
import type { ExportedFile } from '../../server/features/vault/write/exported-files.ts'
import { zipOf } from '../../server/http/responses/zip.ts'
import { made } from '../support/cast.ts'
import type { PersonClient } from '../support/people.ts'
import { runs } from '../support/seed.ts'
import { imported } from '../support/uploads.ts'
import { filesIn } from './folders.ts'
import { randomOrg } from './random-orgs.ts'
import { ann, annThere, exportTo, here, newOrg, stateOf, there, useTwoServices, write } from './there-and-back.ts'

describe('the ZIP of an organisation', () => {
  useTwoServices()
  let scratch: string
  before(async () => {
    scratch = await mkdtemp(join(tmpdir(), 'grove-zip-'))
  })
  after(() => rm(scratch, { recursive: true, force: true }))

  async function archive(who: PersonClient, org: string, query = '?format=zip', headers = {}) {
    const answer = await fetch(`${here.url}/orgs/${org}/export${query}`, {
      headers: { authorization: `Bearer ${who.session.accessToken}`, ...headers },
    })
    return { status: answer.status, headers: answer.headers, bytes: Buffer.from(await answer.arrayBuffer()) }
  }

  /** As native programs read it: both accept it, and agree about the names. */
  async function unpacked(zip: Buffer): Promise<Map<string, Buffer>> {
    const [dir, file] = [await mkdtemp(join(scratch, 'x-')), join(scratch, 'x.zip')]
    await writeFile(file, zip)
    const env = { ...process.env, LC_ALL: 'C.UTF-8' }
    execFileSync('unzip', ['-tqq', file], { env })
    execFileSync('unzip', ['-qq', file, '-d', dir], { env })
    const inFolder = await filesIn(dir)
    const says =
      'import json, sys, zipfile\nz = zipfile.ZipFile(sys.argv[1])\nassert z.testzip() is None\nprint(json.dumps(z.namelist()))'
    const names: string[] = JSON.parse(execFileSync('python3', ['-c', says, file], { encoding: 'utf8' }))
    expect([...names].sort()).to.deep.equal([...inFolder.keys()].sort())
    return inFolder
  }

  /** The files in the archive's only folder. */
  async function filesOf(zip: Buffer, folder: string): Promise<Map<string, Buffer>> {
    const files = [...(await unpacked(zip))]
    expect(files.filter(([path]) => !path.startsWith(`${folder}/`))).to.deep.equal([])
    return new Map(files.map(([path, bytes]) => [path.slice(folder.length + 1), bytes]))
  }

  it('has the files of the folder, and an import into an empty organisation restores them', async () => {
    await fc.assert(
      fc.asyncProperty(randomOrg, async (nodes) => {
        const from = await newOrg(ann)
        await write(here, from, nodes)
        const { bytes } = await archive(ann, from)
        const files = await filesOf(bytes, 'Garden')
        expect(files).to.deep.equal((await exportTo(here, from)).files)
        const to = await newOrg(annThere)
        const report = await imported(annThere, to, bytes)
        expect([report.state, report.report?.problems ?? []]).to.deep.equal(['done', []])
        expect(await stateOf(there, to)).to.deep.equal(await stateOf(here, from))
        expect((await exportTo(there, to)).files).to.deep.equal(files)
      }),
      { seed: 20_261_126, numRuns: runs(5) },
    )
  })

  it('has large files, in text and not, and is the same for the same state', async () => {
    const org = await newOrg(ann, 'Sea & shore')
    const { id } = await made(ann.post(`/orgs/${org}/nodes`, { title: 'Whale', text_content: 'Big. '.repeat(40_000) }))
    const binary = Buffer.alloc(
      1_000_000,
      Uint8Array.from({ length: 251 }, (_, at) => at),
    )
    const put = (path: string, content: Buffer) => ({
      ...{ action: 'put', path, content: content.toString('base64'), encoding: 'base64' },
    })
    const changes = [
      put('song.bin', binary),
      put('log.txt', Buffer.alloc(3_000_000, 'Krill\n')),
      put('empty.txt', Buffer.alloc(0)),
      put('dot.png', Buffer.from([0, 1, 2])),
    ]
    await made(ann.post(`/orgs/${org}/nodes/${id}/tree/main/commits`, { message: 'Files', changes }))
    const { status, headers, bytes } = await archive(ann, org)
    expect([status, headers.get('content-type'), headers.get('content-disposition')]).to.deep.equal([
      ...[200, 'application/zip', `attachment; filename="sea-shore.zip"; filename*=UTF-8''sea-shore.zip`],
    ])
    const files = await filesOf(bytes, 'Sea & shore')
    expect(files).to.deep.equal((await exportTo(here, org)).files)
    expect(files.get('song.bin')?.equals(binary)).to.equal(true)
    // Text is compressed, the rest is not.
    expect(bytes.length).to.be.within(1_000_000, 1_050_000)
    const again = await archive(ann, org, '', { accept: 'application/zip' })
    expect(again.bytes.equals(bytes)).to.equal(true)
    const { created_at } = (await ann.get(`/orgs/${org}/nodes/${id}/tree/main/commits`)).body.history[0]
    const listed = execFileSync('unzip', ['-Z', '-T', join(scratch, 'x.zip')], {
      encoding: 'utf8',
      env: { ...process.env, TZ: 'UTC' },
    })
    const time = new Date(created_at).toISOString().replace(/[-:]/g, '').replace('T', '.').slice(0, 15)
    expect(listed.split(time)).to.have.length(files.size + 1)
    expect(listed).to.match(/-rw-r--r--/)
  })

  it('is of one part of the tree with `under`, and then imports without a change', async () => {
    const org = await newOrg(ann, 'Parts')
    const node = async (title: string) => (await made(ann.post(`/orgs/${org}/nodes`, { title }))).id as string
    const [sea, whales, blue, land] = [await node('Sea'), await node('Whales'), await node('Blue'), await node('Land')]
    const below = (child: string, parent: string) => made(ann.put(`/orgs/${org}/nodes/${child}/parents/${parent}`, {}))
    await below(whales, sea)
    await below(blue, whales)
    await below(blue, land)
    await made(ann.post(`/orgs/${org}/nodes/${blue}/connections`, { target: land, type: 'fears' }))
    const { headers, bytes } = await archive(ann, org, `?format=zip&under=${whales.toUpperCase()}`)
    expect(headers.get('content-disposition')).to.include('filename="whales.zip"')
    const files = await filesOf(bytes, 'Whales')
    const whole = (await exportTo(here, org)).files
    const chosen = [...whole].filter(([path]) => /Whales|Blue/.test(path))
    expect([...files]).to.deep.equal(chosen)
    expect(chosen).to.have.length(2)
    const before = await stateOf(here, org)
    await imported(ann, org, bytes)
    expect(await stateOf(here, org)).to.deep.equal(before)
    const missing = await ann.get(`/orgs/${org}/export?format=zip&under=${org}`)
    expect([missing.status, missing.body.code]).to.deep.equal([404, 'node_not_found'])
    expect((await ann.get(`/orgs/${org}/export?format=rar`)).status).to.equal(422)
  })

  it('is empty for an organisation without nodes, and for those who may not read it 404 or 401', async () => {
    const org = await newOrg(ann, 'Empty')
    const { bytes } = await archive(ann, org)
    expect(bytes).to.have.length(22)
    expect((await fetch(`${here.url}/orgs/${org}/export?format=zip`)).status).to.equal(401)
    await ann.patch(`/orgs/${org}`, { published: true })
    expect((await fetch(`${here.url}/orgs/${org}/export?format=zip`)).status).to.equal(200)
  })

  it('uses ZIP64 for what is beyond 32 and 16 bits', async () => {
    const text = (size: number, byte: number) => Buffer.alloc(size, byte)
    const contents = {
      'a.txt': text(10, 65),
      'b.bin': text(400_000, 0),
      'c.txt': text(400_000, 66),
      'd.bin': text(9, 0),
    }
    const files = async function* (): AsyncGenerator<ExportedFile> {
      for (const [path, bytes] of Object.entries(contents))
        yield {
          path,
          size: bytes.length,
          time: -1,
          read: async function* () {
            yield bytes
          },
        }
    }
    for (const limits of [
      { bytes: 1, entries: 1 },
      { bytes: 300_000, entries: 9 },
      { bytes: 2 ** 32 - 1, entries: 4 },
    ]) {
      const read = await unpacked(await buffer(zipOf(files(), limits)))
      expect(Object.fromEntries(read)).to.deep.equal(contents)
    }
  })
})
