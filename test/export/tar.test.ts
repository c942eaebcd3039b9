/** `GET /orgs/{org_id}/export`: what the tar holds, that it is the same for the same state, and who may have it. */

import { execFileSync } from 'node:child_process'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect } from 'chai'
import { TakenPaths } from '../../server/features/vault/write/layout.ts'
import { signUp } from '../support/people.ts'
import { useWorld } from '../support/world.ts'
import { filesIn } from './folders.ts'

describe('the export of an organisation', () => {
  const { grove, ann } = useWorld({ ann: 'owner' })
  let folder: string

  before(async () => {
    folder = await mkdtemp(join(tmpdir(), 'grove-export-'))
  })

  after(() => rm(folder, { recursive: true, force: true }))

  const newOrg = async (name: string): Promise<string> => (await ann.post('/orgs', { name })).body.id
  const tarOf = async (org: string) => {
    const headers = { authorization: `Bearer ${ann.session.accessToken}` }
    const answer = await fetch(`${grove.url}/orgs/${org}/export`, { headers })
    return { status: answer.status, headers: answer.headers, bytes: Buffer.from(await answer.arrayBuffer()) }
  }
  /** As native tar unpacks it. */
  const unpacked = async (tar: Buffer) => {
    const dir = await mkdtemp(join(folder, 'x-'))
    await writeFile(join(folder, 'x.tar'), tar)
    const listed = execFileSync('tar', ['-tvf', join(folder, 'x.tar'), '--numeric-owner'], {
      encoding: 'utf8',
      env: { ...process.env, TZ: 'UTC', LC_ALL: 'C.UTF-8' },
    })
    execFileSync('tar', ['-xf', join(folder, 'x.tar'), '-C', dir])
    return { files: await filesIn(dir), listed }
  }

  it('is a note for each node, with its place, its edges and its files', async () => {
    const org = await newOrg('Sea & shore')
    const sea = await made(`/orgs/${org}/nodes`, { title: 'The sea', text_content: '# Sea\n\nSalt water.\n' })
    const whale = await made(`/orgs/${org}/nodes`, { title: 'Whale' })
    const at = `/orgs/${org}/nodes/${whale}`
    await ann.patch(at, {
      title: 'Blue whale',
      tags: ['no', '2024-01-01'],
      properties: { length: 29.9, source_path: 7, id: 'x' },
    })
    await ann.put(`${at}/parents/${sea}`, {})
    const connection = (await ann.post(`${at}/connections`, { target: sea, type: 'lives_in', label: 'mostly' })).body.id
    const put = (path: string, content: string) => ({ action: 'put', path, content })
    await ann.post(`${at}/tree/main/commits`, {
      message: 'Pictures',
      changes: [
        put('content.md', '---\nIt is big. ![](img/whale.svg)'),
        put('img/whale.svg', '<svg/>'),
        put('.hidden', 'x'),
      ],
    })
    const { status, headers, bytes } = await tarOf(org)
    expect(status).to.equal(200)
    expect(headers.get('content-type')).to.equal('application/x-tar')
    expect(headers.get('content-disposition')).to.equal(
      `attachment; filename="sea-shore.tar"; filename*=UTF-8''sea-shore.tar`,
    )
    const { files, listed } = await unpacked(bytes)
    const digests = /digest: ([0-9a-f]{16})/
    expect([...files].map(([path, content]) => [path, content.toString().replace(digests, 'digest: …')])).to.deep.equal(
      [
        [
          'The sea.md',
          `---\ntitle: The sea\nid: ${sea}\ngrove:\n  source:\n    at: The sea.md\n  digest: …\n---\n# Sea\n\nSalt water.\n`,
        ],
        [
          'The sea/Blue whale.md',
          `---
title: Blue whale
tags:
  - no
  - 2024-01-01
length: 29.9
id: ${whale}
grove:
  parents:
    - ${sea}
  connections:
    - id: ${connection}
      target: ${sea}
      type: lives_in
      label: mostly
  files:
    .hidden: The sea/_.hidden
    img/whale.svg: The sea/img/whale.svg
  source:
    at: The sea/Blue whale.md
    path: 7
  properties: '{"id":"x"}'
  digest: …
---
---
It is big. ![](img/whale.svg)`,
        ],
        ['The sea/_.hidden', 'x'],
        ['The sea/img/whale.svg', '<svg/>'],
      ],
    )
    expect(listed.split('\n').filter((line) => line !== '' && !line.startsWith('-rw-r--r-- 0/0 '))).to.deep.equal([])
    expect((await tarOf(org)).bytes.equals(bytes)).to.equal(true)
  })

  it('holds what any title, and a path of a thousand bytes, come to', async () => {
    const org = await newOrg('Names')
    const titles = ['a/b', 'A/B', '語'.repeat(300), 'CON', '.env', '👩‍👩‍👧', 'x'.repeat(500)]
    for (const title of titles) await made(`/orgs/${org}/nodes`, { title })
    const id = await made(`/orgs/${org}/nodes`, {
      title: 'Deep',
      properties: { source_path: `${'deep/'.repeat(20)}note.md` },
    })
    const path = `${'ü'.repeat(100)}/${'y'.repeat(200)}/${'z'.repeat(200)}.txt`
    await ann.post(`/orgs/${org}/nodes/${id}/tree/main/commits`, {
      message: 'Deep',
      changes: [{ action: 'put', path, content: 'z' }],
    })
    const { files } = await unpacked((await tarOf(org)).bytes)
    expect(files.get(`${'deep/'.repeat(20)}${path}`)?.toString()).to.equal('z')
    const found = [...files.values()].map((content) => /^title: (.*)$/m.exec(content.toString())?.[1]).filter(Boolean)
    expect(found.sort()).to.deep.equal([...titles, 'Deep'].sort())
  })

  it.deep('looks for the place of each file a few times, however many names become one', async () => {
    const org = await newOrg('Alike')
    const id = await made(`/orgs/${org}/nodes`, { title: 'Alike' })
    const names = Array.from({ length: 500 }, (_, at) => `d/${'x'.repeat(240)}${String(at).padStart(4, '0')}`)
    const changes = names.map((path, at) => ({ action: 'put', path, content: String(at) }))
    await ann.post(`/orgs/${org}/nodes/${id}/tree/main/commits`, { message: 'Alike', changes })
    const { claim } = TakenPaths.prototype
    let tried = 0
    TakenPaths.prototype.claim = function (...named) {
      tried++
      return claim.apply(this, named)
    }
    try {
      const { files } = await unpacked((await tarOf(org)).bytes)
      const texts = [...files.values()].map((content) => content.toString())
      expect(new Set(texts.filter((text) => /^\d+$/.test(text)))).to.have.length(500)
    } finally {
      TakenPaths.prototype.claim = claim
    }
    expect(tried).to.be.below(500 * 6)
  })

  it.deep('holds a large file of several nodes once, and passes it on in pieces', async () => {
    const org = await newOrg('Large')
    const content = Buffer.alloc(9 * 1_048_576, 'grove ').toString('base64')
    for (const title of ['One', 'Two']) {
      const id = await made(`/orgs/${org}/nodes`, { title })
      const changes = [{ action: 'put', path: 'pictures/large.bin', content, encoding: 'base64' }]
      expect(
        (await ann.post(`/orgs/${org}/nodes/${id}/tree/main/commits`, { message: 'Large', changes })).status,
      ).to.equal(201)
    }
    const { bytes } = await tarOf(org)
    const { files } = await unpacked(bytes)
    expect([...files.keys()]).to.deep.equal(['One.md', 'Two.md', 'pictures/large.bin'])
    expect(files.get('pictures/large.bin')?.length).to.equal(9 * 1_048_576)
    expect(bytes.length).to.be.below(10 * 1_048_576)
  })

  it('is empty for an organisation without nodes, and leaves out what is deleted or has no access', async () => {
    const org = await newOrg('Empty')
    const id = await made(`/orgs/${org}/nodes`, { title: 'Gone' })
    await ann.delete(`/orgs/${org}/nodes/${id}`)
    expect((await unpacked((await tarOf(org)).bytes)).files.size).to.equal(0)
    expect((await fetch(`${grove.url}/orgs/${org}/export`)).status).to.equal(401)
    const bob = await signUp(grove, 'Bob')
    expect((await bob.get(`/orgs/${org}/export`)).status).to.equal(404)
  })

  async function made(path: string, body: object): Promise<string> {
    const answer = await ann.post(path, body)
    expect(answer.status, JSON.stringify(answer.body)).to.equal(201)
    return answer.body.id
  }
})
