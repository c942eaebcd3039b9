/** The samples of the API description run as they are written: curl in a shell, JavaScript with the client. */

import { execFile } from 'node:child_process'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { runInNewContext } from 'node:vm'
import { expect } from 'chai'
import { grove as newClient } from '../../spec/client/client.ts'
import document from '../../spec/openapi.json' with { type: 'json' }
import { expecting, type TestNode } from '../support/node.ts'
import { client, password, signUp } from '../support/people.ts'
import { until } from '../support/until.ts'
import { makeHalfSentImport, makeImport, untilImportsEnd, zipOf } from '../support/uploads.ts'
import { useWorld } from '../support/world.ts'

interface Sample {
  readonly lang: string
  readonly label: string
  readonly source: string
}

interface Operation {
  readonly operationId: string
  readonly 'x-codeSamples'?: readonly Sample[]
}

/** A node with a branch and its newest commit, and more for operations that take it. */
interface Scene {
  readonly node: TestNode
  readonly head: string
  /** The head of the branch, empty without one. */
  readonly source: string
  /** Empty without one. */
  readonly importId: string
  /** Empty without one. */
  readonly botId: string
  /** The number of a comment with a suggestion. 0 without one. */
  readonly comment: number
}

const run = promisify(execFile)

const sampled = Object.values(document.paths)
  .flatMap((item) => Object.values(item) as Operation[])
  .filter((operation) => operation['x-codeSamples'] !== undefined)

describe('code samples', () => {
  const { grove, bob, carl } = useWorld({ bob: 'owner', carl: 'editor' }, { logLevel: 'info' })
  let folder: string
  let zip: Buffer
  let anyNode: TestNode

  before(async () => {
    folder = await mkdtemp(join(tmpdir(), 'grove-samples-'))
    zip = await zipOf({ 'whales.md': '# Whales\n' })
    await writeFile(join(folder, 'notes.zip'), zip)
    await bob.patch(`/orgs/${bob.org}`, { published: true }).then(expecting(200))
    anyNode = await carl.node({ text_content: 'Seas.\n' }, bob.org)
  })
  after(() => rm(folder, { recursive: true, force: true }))

  const importFor = async (operationId: string): Promise<string> => {
    if (operationId === 'cancelImport') return makeHalfSentImport(grove, bob, bob.org)
    return operationId === 'getImport' ? makeImport(bob, bob.org) : ''
  }

  const botFor = async (operationId: string): Promise<string> => {
    if (operationId !== 'createBotToken') return ''
    return (await bob.post(`/orgs/${bob.org}/bots`, { name: 'Builder', role: 'reader' }).then(expecting(201))).body.id
  }

  /** Suggests the first line of the text to pull request 1. Returns the number of the comment. */
  const suggest = async (node: TestNode, commit: string): Promise<number> => {
    const anchor = { commit, path: 'content.md', first_line: 1 }
    const body = { text: '', anchor, suggestion: 'Whales sing.\n' }
    return (await carl.post(`${node.at}/pull-requests/1/comments`, body).then(expecting(201))).body.entry
  }

  /** A node of Carl. If the sample names `dolphins`, it has that branch, which is pull request 1 if the sample reads it. */
  const nodeFor = async (source: string): Promise<Pick<Scene, 'node' | 'source'>> => {
    if (!/\$NODE|node_id/.test(source)) return { node: anyNode, source: '' }
    const node = await carl.node({ tags: ['sea'], text_content: 'Whales.\n' }, bob.org)
    const isPull = /pull-requests\/1|number: 1/.test(source)
    if (!isPull && !source.includes('dolphins')) return { node, source: '' }
    const head = await node.proposal('dolphins')
    if (isPull) await node.open('dolphins')
    return { node, source: head }
  }

  const newScene = async (operationId: string, sample: string): Promise<Scene> => {
    await untilImportsEnd(bob, bob.org)
    const importId = await importFor(operationId)
    const botId = await botFor(operationId)
    const { node, source } = await nodeFor(sample)
    const comment = operationId === 'applySuggestions' ? await suggest(node, source) : 0
    const { head } = (await bob.get(node.at)).body
    if (operationId === 'restoreNode') await bob.delete(node.at).then(expecting(204))
    return { node, head, source, importId, botId, comment }
  }

  /** Ann is the account of the samples: it exists for signing in, and does not for signing up. */
  const account = async (operationId: string) => {
    const known = await client(grove).post('/auth/login', { email: 'ann@example.org', password })
    if (operationId === 'signUp' && known.status === 200)
      await client(grove, known.body.accessToken).delete('/auth/me', {}, { password }).then(expecting(200))
    if (operationId === 'logIn' && known.status !== 200) await signUp(grove, 'Ann')
  }

  const inShell = async (source: string, scene: Scene) => {
    const TOKEN = bob.session.accessToken
    const env = {
      PATH: process.env.PATH,
      GROVE: grove.url,
      TOKEN,
      ORG: bob.org,
      NODE: scene.node.id,
      HEAD: scene.head,
      COMMIT: scene.head,
      SOURCE: scene.source,
      IMPORT: scene.importId,
      BOT: scene.botId,
      COMMENT: `${scene.comment}`,
    }
    // A refusal fails the sample.
    const script = `curl() { command curl --fail-with-body "$@"; }\n${source}`
    await run('bash', ['-euo', 'pipefail', '-c', script], { cwd: folder, env })
  }

  const inJavaScript = async (source: string, { node, head, importId, botId, comment }: Scene) => {
    const context = {
      ...{ grove: newClient, url: grove.url, org_id: bob.org, node_id: node.id, commit_id: head, comment },
      ...{ import_id: importId, bot_id: botId },
      openAsBlob: () => new Blob([new Uint8Array(zip)]),
      ...{ g: newClient({ url: grove.url, token: bob.session.accessToken }), console: { log: () => {} }, crypto },
    }
    await runInNewContext(`(async () => {\n${source}\n})()`, context)
  }

  it('are there for the operations that people use most, in curl and JavaScript', () => {
    expect(sampled).to.have.length.of.at.least(39)
    for (const { operationId, 'x-codeSamples': samples = [] } of sampled)
      expect(
        samples.map(({ lang, label }) => `${lang}: ${label}`),
        operationId,
      ).to.deep.equal(['Shell: curl', 'JavaScript: grove/client'])
  })

  for (const { operationId, 'x-codeSamples': samples = [] } of sampled)
    it(`of ${operationId} run`, async () => {
      for (const { lang, source } of samples) {
        await account(operationId)
        const scene = await newScene(operationId, source)
        const called = () => operationsIn(grove.logged())
        const isReady = operationId === 'restoreNode' ? 'deleteNode' : 'getNode'
        await until(() => called().at(-1) === isReady)
        const before = called().length
        await (lang === 'Shell' ? inShell(source, scene) : inJavaScript(source, scene))
        await until(() => called().slice(before).includes(operationId))
        if (operationId === 'updateOrg') await bob.patch(`/orgs/${bob.org}`, { rules: [] }).then(expecting(200))
      }
    })
})

/** The operations of requests in a log, in the order of its lines. */
function operationsIn(log: string): string[] {
  return [...log.matchAll(/"op":"(\w+)"/g)].map(([, operation = '']) => operation)
}
