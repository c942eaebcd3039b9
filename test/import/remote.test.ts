/** `grove import --to`: the same as on the server, through REST with a personal access token; cut off, refused, repeated. */

import { mkdir, readFile, rename, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect } from 'chai'
import { v5 as uuidFrom } from 'uuid'
import { runCommand } from '../support/command.ts'
import { expecting } from '../support/node.ts'
import {
  ann,
  environment,
  type Finished,
  folderOf,
  grove,
  importAs,
  nodesOf,
  orgIn,
  start,
  useService,
  vault,
} from './command.ts'
import { startProxy } from './proxy.ts'

/** The data folder is not needed. */
const nowhere = { DATA_DIR: '/nonexistent' }

const prose = (name: string) => Array.from({ length: 8 }, (_, at) => `${name} says ${at}.\n`).join('')

/** Also what no field of a batch can say: control characters, labels of parents, further members of node.json. */
const files = {
  ...vault,
  'zebra.md': '[all](plants/index.md) [[Thorn|a thorn]] [itself](zebra.md)\n',
  'odd.md': '---\ntags: [x]\nnothing: null\ndeep: { a: [1, null, "\u{1f339}"] }\n---\nA bell\u0007 rings \u2028.\r\n\n',
  'empty.md': '',
  "Ann's [notes]/a+b=c; d.md": '![](x.bin) [[odd]]\n',
  "Ann's [notes]/x.bin": Buffer.from('00ff80feff', 'hex'),
  'latin.md': Buffer.from('# Caf\xe9\n', 'latin1'),
  'board.canvas': '{"nodes":[],"edges":[]}',
  'stated.md': `---
title: Stated
id: 3f2504e0-4f89-41d3-9a0c-0305e82c3301
grove:
  parents:
    - id: 3f2504e0-4f89-41d3-9a0c-0305e82c3302
      label: kept
  node: '{"further":[1]}'
---
Text
`,
  'parent.md': '---\nid: 3f2504e0-4f89-41d3-9a0c-0305e82c3302\n---\nText\n',
}

describe('import --to', () => {
  useService()
  let tokenFile: string
  before(async () => {
    const { token } = (await ann.post('/auth/tokens', { name: 'Import', access: 'write' }).then(expecting(201))).body
    tokenFile = join(await folderOf('Token', { token: `${token}\n` }), 'token')
  })

  async function importTo(url: string, folder: string, ...more: string[]): Promise<Finished> {
    return runCommand(wordsFor(url, folder, more), { ...environment(), ...nowhere })
  }

  /** In a process of its own. */
  function begin(url: string, folder: string, ...more: string[]) {
    return start(wordsFor(url, folder, more), nowhere)
  }

  function wordsFor(url: string, folder: string, more: readonly string[]): string[] {
    return ['import', folder, '--to', url, '--token-file', tokenFile, ...more]
  }

  async function newOrg(name: string): Promise<string> {
    return (await ann.post('/orgs', { name }).then(expecting(201))).body.id
  }

  /** All that an organisation says of its nodes, in terms of their paths. */
  async function stateOf(org: string): Promise<unknown> {
    const { nodes } = (await ann.get(`/orgs/${org}/nodes?limit=200`)).body
    const pathOf = new Map(nodes.map((one: Listed) => [one.id, one.properties.source_path]))
    const state = []
    for (const { id, title, tags, properties } of nodes as Listed[]) {
      const node = `/orgs/${org}/nodes/${id}`
      const { text_content, parents, connections } = (await ann.get(node)).body
      const { entities } = (await ann.get(`${node}/tree/main?limit=200`)).body
      state.push({
        ...{ path: pathOf.get(id), title, tags, properties, text_content },
        parents: parents.map((one: { id: string; label: string }) => [pathOf.get(one.id), one.label]).sort(),
        connections: connections
          .map(({ source, target, type, label }: Record<string, string>) =>
            [pathOf.get(source), pathOf.get(target), type, label].join(' '),
          )
          .sort(),
        files: entities
          .filter(({ entity_key }: Entity) => !/^(parents|connections)\//.test(entity_key))
          .map(({ entity_key, object_id, mode }: Entity) => `${mode} ${object_id} ${entity_key}`),
      })
    }
    return state.sort((a, b) => `${a.path}`.localeCompare(`${b.path}`))
  }

  it('tells in a dry run what a new organisation would have', async () => {
    const dry = await importTo(grove.url, await folderOf('Unheard of', vault), '--dry-run')
    expect(dry.code, dry.stderr).to.equal(0)
    expect(dry.stdout).to.contain('Unheard of (a new organisation): 5 nodes').and.contain('\n5 created, 0 updated')
    const { orgs } = (await ann.get('/orgs?limit=200')).body
    expect(orgs.map(({ name }: { name: string }) => name)).to.not.include('Unheard of')
  })

  it.deep(
    'makes what the import on the server makes; again: nothing; keeps ids, prunes, tells a dry run as the run',
    async () => {
      const [here, there] = [await newOrg('Here'), await newOrg('There')]
      // The ids of stated notes are of one organisation.
      const { 'stated.md': _, 'parent.md': __, ...common } = files
      const folder = await folderOf('Vault', common)
      const local = await importAs(folder, '--org', here)
      const dry = await importTo(grove.url, folder, '--org', there, '--dry-run')
      expect((await nodesOf(there)).size).to.equal(0)
      const remote = await importTo(grove.url, folder, '--org', there)
      expect(remote.code, remote.stderr).to.equal(local.code)
      const note = /Note: the organisation does not record its vault, and .*\n/
      expect(remote.stdout.replace(note, '').replace(`There (${there})`, `Here (${here})`)).to.equal(local.stdout)
      expect(countsIn(dry)).to.equal(countsIn(remote))
      expect(await stateOf(there)).to.deep.equal(await stateOf(here))
      const count = (await nodesOf(there)).size
      const before = await nodesOf(there)
      expect(countsIn(await importTo(grove.url, folder, '--org', there))).to.equal(
        `0 created, 0 updated, ${count} unchanged`,
      )
      expect(await nodesOf(there)).to.deep.equal(before)

      await writeFile(join(folder, 'odd.md'), prose('Odd'))
      await mkdir(join(folder, 'deep'))
      await rename(join(folder, 'plants/thorn.md'), join(folder, 'deep/thorn.md'))
      await rm(join(folder, 'empty.md'))
      await writeFile(join(folder, 'new.md'), '[[zebra]]\n')
      const told = await importTo(grove.url, folder, '--org', there, '--prune', '--dry-run')
      expect(await nodesOf(there)).to.deep.equal(before)
      const pruned = await importTo(grove.url, folder, '--org', there, '--prune')
      expect(countsIn(pruned)).to.equal(countsIn(told)).and.contain('1 renamed, 1 removed')
      expect((await nodesOf(there)).get('Thorn')?.id).to.equal(before.get('Thorn')?.id)
      const { history } = (await ann.get(`/orgs/${there}/nodes/${before.get('Thorn')?.id}/tree/main/commits`)).body
      expect(history.map(({ message }: { message: string }) => message)).to.deep.equal([
        'Import deep/thorn.md, before plants/thorn.md',
        'Import plants/thorn.md',
      ])
      await importAs(folder, '--org', here, '--prune')
      expect(await stateOf(there)).to.deep.equal(await stateOf(here))
    },
  )

  it.deep('writes what the fields of a batch cannot say', async () => {
    const org = await newOrg('Stated')
    const folder = await folderOf('Stated', files)
    const done = await importTo(grove.url, folder, '--org', org)
    expect(done.code, done.stdout + done.stderr).to.equal(0)
    const node = `/orgs/${org}/nodes/${(await nodesOf(org)).get('Stated')?.id}`
    const { content } = (await ann.get(`${node}/tree/main/files/node.json`)).body
    expect(JSON.parse(content)).to.deep.include({ further: [1] })
    expect((await ann.get(node)).body.parents[0]).to.include({ label: 'kept' })
    const proxy = await startProxy(grove.url)
    const again = await importTo(proxy.url, folder, '--org', org)
    await proxy.close()
    expect(countsIn(again)).to.match(/^0 created, 0 updated, \d+ unchanged$/)
    expect(proxy.methods()).to.have.members(['GET', 'PATCH'])
  })

  it('makes an organisation with the token of a login, finds it again by its vault, and never writes two', async () => {
    const folder = await folderOf('Session', { 'a.md': 'A' })
    const refused = await importTo(grove.url, folder)
    expect(refused).to.deep.equal({
      code: 2,
      stdout: '',
      stderr:
        'grove: There is no organisation for this folder, and personal access tokens cannot change that. Create an organisation called Session, or choose one with --org\n',
    })
    const session = join(await folderOf('Token', { session: ann.session.accessToken }), 'session')
    const first = await importTo(grove.url, folder, '--token-file', session)
    const org = orgIn(first)
    const { id } = JSON.parse(await readFile(join(folder, '.grove/vault.json'), 'utf8'))
    expect((await ann.get(`/orgs/${org}`)).body.vault_id).to.equal(id)
    expect(orgIn(await importTo(grove.url, folder))).to.equal(org)
    const other = { vault_id: '3f2504e0-4f89-41d3-9a0c-0305e82c3301' }
    expect((await ann.patch(`/orgs/${org}`, other)).body.detail[0].loc).to.deep.equal(['body', 'vault_id'])
    expect((await ann.patch(`/orgs/${org}`, { vault_id: id, name: 'Mine' })).body).to.include({
      vault_id: id,
      name: 'Mine',
    })
  })

  it.deep(
    'completes 1,000 files that were cut off, with an answer lost and a service that is busy, and makes no node twice',
    async () => {
      const many: Record<string, string> = {}
      for (let at = 0; at < 1_000; at++) many[`n${at}.md`] = at === 0 ? '[[n999]] [[n998]]\n' : `${at}\n`
      const folder = await folderOf('Many', many)
      const org = await newOrg('Many')
      const proxy = await startProxy(grove.url)
      try {
        const cut = begin(proxy.url, folder, '--org', org)
        proxy.after('PUT', 1, () => cut.child.kill('SIGKILL'))
        expect((await cut.done).code).to.equal(null)
        expect((await ann.get(`/orgs/${org}/nodes?limit=1`)).body.total).to.equal(1_000)
        proxy.busy('PUT')
        proxy.loseAnswer('PUT')
        const again = await importTo(proxy.url, folder, '--org', org)
        expect(again.code, again.stderr).to.equal(0)
        expect(countsIn(again)).to.equal('1 created, 1 updated, 999 unchanged')
        expect((await ann.get(`/orgs/${org}/nodes?limit=1`)).body.total).to.equal(1_001)
      } finally {
        await proxy.close()
      }
    },
  )

  it('names nodes that are refused, keeps the others without their edges to these, and ends with 1', async () => {
    const [org, elsewhere] = [await newOrg('Refused'), await newOrg('Elsewhere')]
    const taken = { title: 'Taken', id: uuidFrom('plants', org) }
    await ann.post(`/orgs/${elsewhere}/nodes`, taken).then(expecting(201))
    const folder = await folderOf('Refused', {
      ...vault,
      'zebra.md': '[all](plants/index.md) [rose](plants/rose.md)',
      'wrong.md': `---\ntitle: ${'x'.repeat(40)}\nbig: ${'y'.repeat(70_000)}\n---\n`,
    })
    const done = await importTo(grove.url, folder, '--org', org)
    expect(done.code).to.equal(1)
    const problems = done.stdout.split('problems found:\n')[1]?.split('1 link')[0] ?? ''
    expect(problems).to.contain(`  plants/index.md: The id ${taken.id} is already in use\n`)
    expect(problems).to.contain('  zebra.md: edges left out, because their targets could not be written: 1\n')
    expect([...(await nodesOf(org)).keys()]).to.include.members(['Rose', 'Thorn', 'Zebra'])
    expect(countsIn(await importTo(grove.url, folder, '--org', org))).to.match(/^0 created, 0 updated, \d unchanged$/)
  })

  it('edits nothing if main needs pull requests, and says so', async () => {
    const { id } = (await ann.post('/orgs', { name: 'Careful', require_pull_requests: true })).body
    const folder = await folderOf('Careful', { 'a.md': '# A\n', 'b.md': '[[a]]\n' })
    expect((await importTo(grove.url, folder, '--org', id)).code).to.equal(0)
    await writeFile(join(folder, 'a.md'), '# A\n\nEdited.\n')
    const again = await importTo(grove.url, folder, '--org', id)
    expect(again.code).to.equal(1)
    expect(again.stdout).to.contain(
      '  a.md: In this organisation `main` can only be changed by merging a pull request\n',
    )
  })

  it.deep('creates no page that a rule guards, nor a page below it elsewhere', async () => {
    const org = await newOrg('Guarded')
    const folder = await folderOf('Guarded', { 'Sea/krill.md': '# Krill\n' })
    await importTo(grove.url, folder, '--org', org)
    const under = (await nodesOf(org)).get('Sea')?.id
    await ann.patch(`/orgs/${org}`, { rules: [{ branches: ['main'], under }] }).then(expecting(200))
    await mkdir(join(folder, 'Sea/New'))
    for (const name of ['Sea/New/index.md', 'Sea/New/below.md', 'fox.md'])
      await writeFile(join(folder, name), '# New\n')
    const { code, stdout } = await importTo(grove.url, folder, '--org', org)
    expect([code, /\d+ created/.exec(stdout)?.[0]]).to.deep.equal([1, '1 created'])
    expect(stdout.match(/ {2}Sea\/New\/\w+\.md: Pages below “Sea” are created by a proposal here/g)).to.have.length(2)
  })

  it('says which access a token lacks that may only read', async () => {
    const folder = await folderOf('Read only', { 'a.md': 'A' })
    const org = await newOrg('Read only')
    const { token } = (await ann.post('/auth/tokens', { name: 'Reads', access: 'read' }).then(expecting(201))).body
    const file = join(await folderOf('Token', { token }), 'token')
    const { code, stderr } = await importTo(grove.url, folder, '--org', org, '--token-file', file)
    expect(code).to.equal(2)
    expect(stderr.trim().split('\n').at(-1)).to.equal(
      `grove: ${grove.url} refuses the token: This token is read-only; 0 of 2 nodes were written. An import needs a personal access token with write access to this organisation. Create one, and run the same command with it`,
    )
  })

  it('ends with a sentence for what cannot work, and never says the token', async () => {
    const folder = await folderOf('Wrong', { 'a.md': 'A', 'bad-token': 'grv_secret', blank: ' \n' })
    const ends = async (code: number, words: string, url: string, ...more: string[]) => {
      const done = await importTo(url, folder, ...more)
      expect(done.code, done.stderr).to.equal(code)
      expect(done.stderr).to.contain(words).and.not.contain('grv_').and.not.contain('    at ')
    }
    const org = await newOrg('Wrong')
    await ends(2, 'refuses the token: ', grove.url, '--token-file', join(folder, 'bad-token'))
    await ends(2, 'does not contain a token', grove.url, '--token-file', join(folder, 'blank'))
    await ends(2, 'does not exist', grove.url, '--token-file', join(folder, 'absent'))
    await ends(2, 'is a folder', grove.url, '--token-file', folder)
    await ends(2, 'https is needed', 'http://grove.example.org')
    await ends(2, 'is not a URL', 'ftp://x')
    await ends(2, 'put the token in the file', 'https://ann:secret@grove.example.org')
    await ends(2, 'Organisation not found', grove.url, '--org', '3f2504e0-4f89-41d3-9a0c-0305e82c3309')
    await ends(2, '--as and --to cannot be combined', grove.url, '--as', 'ann@example.org')
    await ends(1, 'cannot be reached: ', 'http://127.0.0.1:9', '--org', org)
    const tls = grove.url.replace('http:', 'https:')
    await ends(1, 'it does not use TLS; should the URL begin with http://?\n', tls, '--org', org)
    expect((await nodesOf(org)).size).to.equal(0)
  })
})

interface Listed {
  id: string
  title: string
  tags: string[]
  properties: { source_path: string }
}

interface Entity {
  entity_key: string
  object_id: string
  mode: string
}

function countsIn({ stdout, stderr }: Finished): string {
  return /^\d+ created, .*$/m.exec(stdout)?.[0] ?? `${stdout}${stderr}`
}
