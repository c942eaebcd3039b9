/** `grove embed`, against an endpoint on loopback. */
import { join } from 'node:path'
import { expect } from 'chai'
import { withFileLock } from '../../index/sqlite/file-lock.ts'
import { runFolder } from '../../server/domain/layout.ts'
import { type EmbeddingsEndpoint, sendJson, startEmbeddingsEndpoint } from '../support/embeddings-endpoint.ts'
import { type Grove, startGrove } from '../support/grove.ts'
import { newNode } from '../support/node.ts'
import { type PersonClient, signUp } from '../support/people.ts'
import { databaseEnvironment } from '../support/postgres.ts'
import { cli, cliWith, folder, useDesk } from './desk.ts'

describe('grove embed', () => {
  useDesk()
  let grove: Grove
  let ann: PersonClient
  let bob: PersonClient
  let endpoint: EmbeddingsEndpoint

  beforeEach(async () => {
    endpoint = await startEmbeddingsEndpoint()
    grove = await startGrove({ dataDir: await folder(), sweeps: false })
    ann = await signUp(grove, 'Ann')
    bob = await signUp(grove, 'Bob')
    for (const title of ['Whales', 'Seals', 'Krill'])
      await newNode(grove, ann, { title, text_content: `# ${title}\n\n${title} live in the deep ice.\n` })
    // The same text twice is sent once.
    await newNode(grove, ann, { title: 'Krill', text_content: '# Krill\n\nKrill live in the deep ice.\n' })
    await newNode(grove, bob, { title: 'Song', text_content: 'A song.' })
  })
  afterEach(async () => {
    await grove.close()
    await endpoint.close()
  })

  it('counts without sending, then sends exactly that, and then nothing', async () => {
    const dry = await embed('--dry-run', '--json')
    expect(dry).to.include({ code: 0, stderr: '' })
    expect(endpoint.requests).to.deep.equal([])
    const { organisations, ...rest } = JSON.parse(dry.stdout)
    expect(rest).to.deep.equal({ model: 'letters', embedded: 0 })
    const ids = organisations.map(({ id }: { id: string }) => id)
    expect(ids).to.deep.equal([ann.org, bob.org].sort())
    const sum = (name: string) =>
      organisations.reduce((all: number, one: Record<string, number>) => all + (one[name] ?? 0), 0)

    const done = await embed()
    expect(done.code, done.stderr).to.equal(0)
    expect(endpoint.texts().length).to.equal(sum('texts'))
    expect(endpoint.texts().join('').length).to.equal(sum('characters'))
    expect(done.stdout).to.include(`${sum('texts')} texts embedded`)
    for (const { id, nodes, texts, characters, tokens } of organisations) {
      expect(tokens).to.equal(Math.ceil(characters / 4))
      expect(done.stdout).to.match(new RegExp(`^${id}: ${nodes} nodes?, ${texts} texts?, ${characters} `, 'm'))
    }

    const before = endpoint.requests.length
    const again = JSON.parse((await embed('--json')).stdout)
    expect(again.embedded).to.equal(0)
    for (const one of again.organisations) expect(one).to.include({ nodes: 0, texts: 0, characters: 0, tokens: 0 })
    expect(endpoint.requests.length).to.equal(before)
  })

  it('embeds one organisation', async () => {
    const { code, stdout } = await embed('--org', bob.org.toUpperCase(), '--json')
    expect(code).to.equal(0)
    expect(JSON.parse(stdout).organisations.map(({ id }: { id: string }) => id)).to.deep.equal([bob.org])
    expect(endpoint.texts().join(' ')).to.include('Song').and.not.include('Krill')
  })

  it('waits if the endpoint asks for it', async () => {
    let refusals = 1
    endpoint.behaviour = (_, res, answer) => {
      if (refusals-- > 0) sendJson(res, 429, { error: { message: 'later' } }, { 'retry-after': '1' })
      else answer()
    }
    const { code, stdout } = await embed('--org', bob.org)
    expect(code).to.equal(0)
    expect(stdout).to.match(/^[1-9]\d* texts? embedded$/m)
  })

  it('refuses organisations that do not exist or do not allow it', async () => {
    await bob.patch(`/orgs/${bob.org}`, { embeddings: false })
    for (const id of [bob.org, '00000000-0000-4000-8000-000000000000']) {
      const { code, stdout, stderr } = await embed('--org', id)
      expect({ code, stdout }).to.deep.equal({ code: 1, stdout: '' })
      expect(stderr).to.match(/does not exist, or does not allow/)
    }
    expect(JSON.parse((await embed('--dry-run', '--json')).stdout).organisations).to.have.length(1)
    expect((await embed('--org', 'whales')).code).to.equal(2)
    expect(endpoint.requests).to.deep.equal([])
  })

  it('refuses without a model, and beside another process that embeds', async () => {
    const { code, stderr } = await cli(grove.dataDir, 'embed')
    expect(code).to.equal(2)
    expect(stderr).to.match(/Set EMBEDDINGS to/)
    const lock = join(runFolder(grove.dataDir), 'embedding')
    await withFileLock(lock, new AbortController().signal, async () => {
      const beside = await embed()
      expect(beside.code).to.equal(1)
      expect(beside.stderr).to.match(/embeds already/)
      expect((await embed('--dry-run')).code).to.equal(0)
    })
    expect(endpoint.requests).to.deep.equal([])
  })

  it('refuses an index that is incomplete, until it is rebuilt', async () => {
    const backup = join(await folder(), 'backup')
    expect((await cli(grove.dataDir, 'backup', backup)).code).to.equal(0)
    const dataDir = await folder()
    expect((await cli(dataDir, 'restore', backup)).code).to.equal(0)
    const { code, stderr } = await embedIn(dataDir, '--dry-run')
    expect(code).to.equal(2)
    expect(stderr).to.match(/index is incomplete.*grove reindex/)
    expect((await cli(dataDir, 'reindex')).code).to.equal(0)
    expect((await embedIn(dataDir, '--dry-run')).code).to.equal(0)
  })

  function embed(...args: string[]) {
    return embedIn(grove.dataDir, ...args)
  }

  async function embedIn(dataDir: string, ...args: string[]) {
    const settings = { EMBEDDINGS: 'endpoint', EMBEDDINGS_URL: endpoint.url, EMBEDDINGS_MODEL: 'letters' }
    return cliWith({ DATA_DIR: dataDir, ...(await databaseEnvironment(dataDir)), ...settings }, 'embed', ...args)
  }
})
