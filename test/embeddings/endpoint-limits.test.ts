/** The cost of an endpoint, and its allowed places. */

import { networkInterfaces } from 'node:os'
import { expect } from 'chai'
import type { FetchRequest, FetchRules } from '../../server/domain/net/guarded-fetch.ts'
import { type EmbeddingsEndpoint, sendJson, startEmbeddingsEndpoint } from '../support/embeddings-endpoint.ts'
import { embed, failed, noon, sceneOf, someTexts, vectorsOf } from './scene.ts'

const minute = 60_000
const midnight = Date.UTC(2030, 0, 3)

describe('the budget of an endpoint', () => {
  let endpoint: EmbeddingsEndpoint
  beforeEach(async () => {
    endpoint = await startEmbeddingsEndpoint()
  })
  afterEach(() => endpoint.close())

  /** 2,000 characters, which count as 500 tokens. */
  const long = (name: string) => name.padEnd(2_000, '.')

  it('ends at midnight UTC, is logged once a day, and counts what the endpoint counted', async () => {
    const scene = sceneOf(endpoint.url, { EMBEDDINGS_BUDGET: '10000' })
    endpoint.behaviour = (_request, _res, answer) => answer((body) => ({ ...body, usage: { total_tokens: 4_000 } }))
    await embed(scene, [long('a')])
    await embed(scene, [long('b')])
    expect(await scene.metric('embeddings_tokens_total')).to.deep.equal({ '': 8_000 })
    // 3,000 by estimate.
    const { message, retryAfterMs } = await failed(embed(scene, ['c', 'd', 'e', 'f', 'g', 'h'].map(long)))
    expect(message).to.match(/EMBEDDINGS_BUDGET/)
    expect(retryAfterMs).to.equal(midnight - noon)
    scene.pass(3 * minute)
    await failed(embed(scene, ['c', 'd', 'e', 'f', 'g', 'h'].map(long)))
    expect(scene.lines().map(({ level, seconds }) => ({ level, seconds }))).to.deep.equal([
      { level: 40, seconds: (midnight - noon) / 1_000 },
    ])
    expect(endpoint.requests.length).to.equal(2)
    // A small request is still within it.
    expect(await embed(scene, [long('c')])).to.deep.equal(vectorsOf([long('c')]))
    expect(await scene.model.embedQuestion('d')).to.equal(undefined)
    expect(await scene.metric('embeddings_questions_total')).to.deep.equal({ skipped: 1 })
    scene.at(midnight)
    expect(await scene.model.embedQuestion('d')).to.deep.equal(vectorsOf(['d'])[0])
    expect(await embed(scene, [long('d')])).to.deep.equal(vectorsOf([long('d')]))
  })

  it('is estimated by characters if the endpoint counts nothing it could mean', async () => {
    for (const total_tokens of [-1, 1.5, '9', null, Number.MAX_VALUE, undefined]) {
      const scene = sceneOf(endpoint.url, { EMBEDDINGS_BUDGET: '10000' })
      endpoint.behaviour = (_request, _res, answer) => answer((body) => ({ ...body, usage: { total_tokens } }))
      await embed(scene, [long('a')])
      expect(await scene.metric('embeddings_tokens_total'), String(total_tokens)).to.deep.equal({ '': 500 })
    }
  })

  it('is not charged for requests that were refused', async () => {
    const scene = sceneOf(endpoint.url, { EMBEDDINGS_BUDGET: '10000' })
    for (let at = 0; at < 30; at++) {
      endpoint.behaviour = (_request, res) => sendJson(res, 500, {})
      scene.pass((await failed(embed(scene, [long('a'), long('b')]))).retryAfterMs)
    }
    endpoint.behaviour = undefined
    expect(await embed(scene, [long('a')])).to.deep.equal(vectorsOf([long('a')]))
  })
})

describe('the rate of an endpoint', () => {
  let endpoint: EmbeddingsEndpoint
  beforeEach(async () => {
    endpoint = await startEmbeddingsEndpoint()
  })
  afterEach(() => endpoint.close())

  it('is kept in every minute, and leaves a fifth for questions', async () => {
    const scene = sceneOf(endpoint.url, { EMBEDDINGS_RATE: '10' })
    for (const text of someTexts(8)) {
      await embed(scene, [text])
      scene.pass(1_000)
    }
    const { message, retryAfterMs } = await failed(embed(scene, ['pea']))
    expect(message).to.match(/requests of this minute/)
    expect(retryAfterMs).to.equal(minute - 8_000)
    for (const [at, question] of ['one', 'two', 'three'].entries())
      expect(await scene.model.embedQuestion(question)).to.deep.equal(at < 2 ? vectorsOf([question])[0] : undefined)
    scene.pass(retryAfterMs)
    expect(await embed(scene, ['pea'])).to.deep.equal(vectorsOf(['pea']))
    expect((await failed(embed(scene, ['boat']))).retryAfterMs).to.equal(1_000)
    expect(scene.lines()).to.deep.equal([])
  })

  it('and pauses do not last if the clock is set back', async () => {
    const scene = sceneOf(endpoint.url, { EMBEDDINGS_RATE: '1' })
    await embed(scene, ['pea'])
    expect((await failed(embed(scene, ['boat']))).retryAfterMs).to.equal(minute)
    scene.at(noon - 3_600_000)
    expect(await embed(scene, ['boat'])).to.deep.equal(vectorsOf(['boat']))
    scene.at(noon)
    endpoint.behaviour = (_request, res) => sendJson(res, 401, {})
    await failed(embed(scene, ['soup']))
    endpoint.behaviour = undefined
    scene.at(noon - 7_200_000)
    expect(await embed(scene, ['soup'])).to.deep.equal(vectorsOf(['soup']))
  })

  it('never keeps a text from being found: each retry continues', async () => {
    const scene = sceneOf(endpoint.url, { EMBEDDINGS_RATE: '2' })
    endpoint.behaviour = ({ body: { input } }, res, answer) =>
      input.includes('refused') ? sendJson(res, 400, {}) : answer()
    const texts = someTexts(8).map((text, at) => (at === 5 ? 'refused' : text))
    let vectors: readonly (Int8Array | undefined)[] | undefined
    for (let at = 0; at < 100 && vectors === undefined; at++) {
      try {
        vectors = await embed(scene, texts)
      } catch {
        scene.pass(minute)
      }
    }
    expect(vectors).to.deep.equal(vectorsOf(texts).map((vector, at) => (at === 5 ? undefined : vector)))
  })
})

describe('the place of an endpoint', () => {
  /** Calls a model whose names resolve so. Returns the reason why nothing was sent, or what was asked. */
  async function tried(
    url: string,
    variables: Record<string, string> = {},
    addresses: readonly string[] = ['1.1.1.1'],
  ) {
    const resolve = async () => addresses.map((address) => ({ address }))
    const scene = sceneOf(url, variables, { rules: { resolve }, totalMs: 5_000 })
    const { message } = await failed(embed(scene, ['pea']))
    return message
  }
  const http = { EMBEDDINGS_HTTP: 'on' }
  const isPrivate = 'has an IP address that is not public. Use a public host, or open this one with EMBEDDINGS_ALLOW.'

  it('is refused if its name has an IP address that is not public', async () => {
    for (const addresses of [
      ['127.0.0.1'],
      ['10.0.0.1'],
      ['1.1.1.1', '10.0.0.1'],
      ['10.0.0.1', '1.1.1.1'],
      ['2606:4700::1', '::1'],
      ['::ffff:10.0.0.1'],
      ['64:ff9b::7f00:1'],
      ['169.254.169.254'],
      ['fe80::1%eth0'],
      ['0.0.0.0'],
      ['not an address'],
    ])
      for (const [url, variables] of [
        ['https://api.example/v1', {}],
        ['http://api.example/v1', http],
        ['https://api.example/v1', { EMBEDDINGS_ALLOW: '10.9.0.0/16,other.example' }],
      ] as const)
        expect(await tried(url, variables, addresses), addresses.join()).to.equal(`api.example ${isPrivate}`)
  })

  it('is reached under a name that the operator allows, by name or network, or as a literal', async () => {
    const endpoint = await startEmbeddingsEndpoint('0.0.0.0')
    const at = (host: string) => `http://${host}:${endpoint.port}/v1`
    const reached = async (url: string, variables: Record<string, string>, addresses: readonly string[]) => {
      const resolve = async () => addresses.map((address) => ({ address }))
      const scene = sceneOf(url, { ...http, ...variables }, { rules: { resolve } })
      expect(await embed(scene, ['pea'])).to.deep.equal(vectorsOf(['pea']))
    }
    await reached(at('gpu.internal'), { EMBEDDINGS_ALLOW: 'gpu.internal' }, ['127.0.0.1'])
    await reached(at('gpu.internal'), { EMBEDDINGS_ALLOW: '127.0.0.0/8' }, ['127.0.0.3'])
    const own = Object.values(networkInterfaces())
      .flatMap((all) => all ?? [])
      .find(({ family, internal }) => family === 'IPv4' && !internal)
    if (own !== undefined) await reached(at(own.address), {}, [])
    expect(endpoint.requests.every(({ headers }) => headers.host?.endsWith(`:${endpoint.port}`))).to.equal(true)
  })

  it('on loopback is reached without https, as the machine resolves it', async () => {
    const endpoint = await startEmbeddingsEndpoint()
    for (const host of ['localhost', '127.0.0.1', '127.1', '2130706433'])
      expect(await embed(sceneOf(`http://${host}:${endpoint.port}/v1`), ['pea'])).to.deep.equal(vectorsOf(['pea']))
  })

  it('under a name of loopback stays on this machine, also if the name resolves to another', async () => {
    for (const addresses of [['1.1.1.1'], ['127.0.0.1', '1.1.1.1'], ['10.0.0.1'], ['::ffff:1.1.1.1']])
      for (const host of ['localhost', 'models.localhost'])
        expect(await tried(`https://${host}/v1`, { EMBEDDINGS_ALLOW: '10.0.0.1' }, addresses)).to.equal(
          `${host} has an IP address that is not loopback. Use 127.0.0.1 or [::1], or correct the name.`,
        )
  })

  it('is never this service', async () => {
    const scene = sceneOf('https://grove.example/v1', { PUBLIC_URL: 'https://grove.example' })
    const { message, retryAfterMs } = await failed(embed(scene, ['pea']))
    expect(message).to.match(/^The URL is that of this service/)
    expect(retryAfterMs).to.equal(10 * minute)
  })

  it('is not reached through a proxy of the environment', async () => {
    const endpoint = await startEmbeddingsEndpoint()
    const before = { ...process.env }
    Object.assign(process.env, { HTTP_PROXY: 'http://127.0.0.1:1', http_proxy: 'http://127.0.0.1:1', NO_PROXY: '' })
    try {
      expect(await embed(sceneOf(endpoint.url), ['pea'])).to.deep.equal(vectorsOf(['pea']))
    } finally {
      process.env = before
    }
  })

  it('gets a bounded answer within a bounded time', async () => {
    let request: FetchRequest | undefined
    let rules: FetchRules | undefined
    const scene = sceneOf(
      'https://api.example/v1',
      {},
      {
        fetch: (given, givenRules) => {
          request = given
          rules = givenRules
          return Promise.reject(new Error('not sent'))
        },
      },
    )
    await embed(scene, ['pea']).catch(() => undefined)
    expect(request?.limits).to.include({ totalMs: 15_000, connectMs: 5_000, excess: 'refuse' })
    expect(request?.limits.readBytes).to.be.at.most(16 * 1_048_576)
    expect(rules).to.deep.include({ isHttpAllowed: false })
  })
})
