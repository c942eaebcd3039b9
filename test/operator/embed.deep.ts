/** `grove embed`, against an endpoint on loopback. */
import { join } from 'node:path'
import { expect } from 'chai'
import { withFileLock } from '../../index/sqlite/file-lock.ts'
import { readConfig } from '../../server/base/config.ts'
import { runFolder } from '../../server/domain/layout.ts'
import { startGroveCommand } from '../support/command.ts'
import { type EmbeddingsEndpoint, sendJson, startEmbeddingsEndpoint } from '../support/embeddings-endpoint.ts'
import { type Grove, startGrove } from '../support/grove.ts'
import { expecting, newNode } from '../support/node.ts'
import { client, type PersonClient, signUp } from '../support/people.ts'
import { databaseEnvironment } from '../support/postgres.ts'
import { until } from '../support/until.ts'
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

  it('ends if the model will not embed soon', async () => {
    const refuse =
      (status: number, headers: Record<string, string> = {}): EmbeddingsEndpoint['behaviour'] =>
      (_, res) =>
        sendJson(res, status, { error: { message: 'no' } }, headers)
    for (const behaviour of [refuse(401), refuse(429, { 'retry-after': '600' })]) {
      endpoint.behaviour = behaviour
      const { code, stderr } = await embed()
      expect(code).to.equal(1)
      expect(stderr).to.match(
        /grove: The embeddings endpoint .*\. The texts that were embedded are kept\. Run grove embed/,
      )
      expect(stderr).to.not.include('    at ')
    }
    expect(endpoint.requests).to.have.length(2)
  })

  describe('that is asked to end', () => {
    beforeEach(async () => {
      const nodes = Array.from({ length: 60 }, (_, n) => ({ title: `Seal ${n}`, text_content: `Fish ${n}` }))
      await ann.post(`/orgs/${ann.org}/nodes/batch`, { nodes }).then(expecting(201))
    })

    const cases: readonly [NodeJS.Signals, number, string, EmbeddingsEndpoint['behaviour']][] = [
      ['SIGINT', 130, 'while a request is under way', () => {}],
      ['SIGTERM', 143, 'while a request is under way', () => {}],
      [
        'SIGTERM',
        143,
        'while it waits because the endpoint asks for it',
        (_, res) => sendJson(res, 429, { error: { message: 'later' } }, { 'retry-after': '50' }),
      ],
    ]
    for (const [signal, code, when, second] of cases)
      it(`ends at ${signal} ${when}, and embeds the rest when it runs again`, async () => {
        endpoint.behaviour = (request, res, answer) =>
          endpoint.requests.length === 1 ? answer() : second?.(request, res, answer)
        const { child, finished } = await startGroveCommand(grove.dataDir, ['embed'], settings())
        let said = ''
        child.stderr?.on('data', (chunk) => {
          said += chunk
        })
        const waits = /Trying again in \d+ seconds\n/
        await until(() => endpoint.requests.length === 2 && (!when.includes('waits') || waits.test(said)))
        child.kill(signal)
        const ended = await finished
        // A command that ignores the signal is killed, and prints no such line.
        expect(ended.stderr).to.include(`grove: interrupted by ${signal} before the work was done\n`)
        expect(ended.code).to.equal(code)
        expect(ended.stdout).to.not.include('embedded')

        const [done, cut] = endpoint.requests.map(({ body }) => body.input)
        endpoint.behaviour = undefined
        const pending = JSON.parse((await embed('--dry-run', '--json')).stdout).organisations
        const texts = pending.reduce((sum: number, one: { texts: number }) => sum + one.texts, 0)
        expect((await embed()).code).to.equal(0)
        const rest = endpoint.texts().slice((done?.length ?? 0) + (cut?.length ?? 0))
        expect(rest).to.have.length(texts)
        expect(rest).to.include.members(cut ?? [])
        expect(rest.filter((text) => done?.includes(text))).to.deep.equal([])
        expect(new Set(rest)).to.have.property('size', texts)
      })
  })

  it('takes turns with a service, so that no text is sent twice', async () => {
    let release = () => {}
    const released = new Promise<void>((resolve) => {
      release = resolve
    })
    endpoint.behaviour = async (_request, _res, answer) => {
      await released
      answer()
    }
    const { finished } = await startGroveCommand(grove.dataDir, ['embed'], settings())
    await until(() => endpoint.requests.length === 1)
    const { embeddings } = readConfig(settings())
    const service = await startGrove({ dataDir: grove.dataDir, ...(embeddings && { embeddings }) })
    try {
      const at = client(service, ann.session.accessToken)
      const path = `/orgs/${ann.org}/nodes`
      await at.post(path, { title: 'Late', text_content: 'Plankton' }).then(expecting(201))
      release()
      expect((await finished).code).to.equal(0)
      await at.post(path, { title: 'Later', text_content: 'Squid' }).then(expecting(201))
      await until(() => endpoint.texts().includes('Later\nSquid'))
      const beside = await embed()
      expect([beside.code, beside.stderr]).to.deep.equal([
        1,
        'grove: Another process, such as a running service, embeds already. Wait for it, or stop it and try again\n',
      ])
      const texts = endpoint.texts()
      expect(texts).to.include('Late\nPlankton')
      expect(texts).to.have.length(new Set(texts).size)
    } finally {
      await service.close()
    }
  })

  function embed(...args: string[]) {
    return embedIn(grove.dataDir, ...args)
  }

  async function embedIn(dataDir: string, ...args: string[]) {
    return cliWith({ DATA_DIR: dataDir, ...(await databaseEnvironment(dataDir)), ...settings() }, 'embed', ...args)
  }

  function settings() {
    return { EMBEDDINGS: 'endpoint', EMBEDDINGS_URL: endpoint.url, EMBEDDINGS_MODEL: 'letters' }
  }
})
