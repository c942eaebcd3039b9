/** An endpoint that fails: how long it is left alone, what the log says, and which texts are refused for good. */

import type { ServerResponse } from 'node:http'
import { expect } from 'chai'
import fc from 'fast-check'
import { type EmbeddingsEndpoint, sendJson, startEmbeddingsEndpoint } from '../support/embeddings-endpoint.ts'
import { runs } from '../support/seed.ts'
import { embed, failed, key, noon, sceneOf, someTexts, vectorsOf } from './scene.ts'

const [minute, hour] = [60_000, 3_600_000]

describe('an endpoint that fails', () => {
  let endpoint: EmbeddingsEndpoint
  beforeEach(async () => {
    endpoint = await startEmbeddingsEndpoint()
  })
  afterEach(() => endpoint.close())

  const answers = (status: number, headers: Record<string, string> = {}, body: unknown = {}) => {
    endpoint.behaviour = (_request, res) => sendJson(res, status, body, headers)
  }

  it('is asked again after 1 s, doubled up to 10 min, and logged once', async () => {
    const scene = sceneOf(endpoint.url)
    const waits: number[] = []
    for (const status of [500, 429, 503, 408, 529, 500, 500, 500, 500, 500, 500, 500]) {
      answers(status)
      const { retryAfterMs } = await failed(embed(scene, ['pea']))
      waits.push(retryAfterMs)
      scene.pass(retryAfterMs)
    }
    const seconds = [1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 600, 600]
    expect(waits).to.deep.equal(seconds.map((one) => one * 1_000))
    expect(scene.lines().map(({ reason }) => reason)).to.deep.equal(
      [500, 429, 503, 408, 529].map((status) => `The embeddings endpoint answered ${status}.`),
    )
    endpoint.behaviour = undefined
    expect(await embed(scene, ['pea'])).to.deep.equal(vectorsOf(['pea']))
    answers(500)
    expect((await failed(embed(scene, ['boat']))).retryAfterMs).to.equal(1_000)
  })

  it('gets nothing during a pause, which varies by a fifth', async () => {
    for (const [random, ms] of [
      [0, 800],
      [1, 1_200],
    ] as const) {
      endpoint.requests.length = 0
      answers(500)
      const scene = sceneOf(endpoint.url, {}, { random: () => random })
      expect((await failed(embed(scene, ['pea']))).retryAfterMs).to.equal(ms)
      scene.pass(ms - 1)
      expect((await failed(embed(scene, ['pea']))).retryAfterMs).to.equal(1)
      expect(endpoint.requests.length).to.equal(1)
      endpoint.behaviour = undefined
      scene.pass(1)
      expect(await embed(scene, ['pea'])).to.deep.equal(vectorsOf(['pea']))
    }
  })

  it('is left alone for as long as it asks, at most an hour, also by questions', async () => {
    for (const [header, ms] of [
      ['7', 7_000],
      [new Date(noon + 90_000).toUTCString(), 90_000],
      ['999999999', hour],
    ] as const) {
      const scene = sceneOf(endpoint.url)
      answers(429, { 'retry-after': header })
      expect((await failed(embed(scene, ['pea']))).retryAfterMs, header).to.equal(ms)
      endpoint.behaviour = undefined
      endpoint.requests.length = 0
      scene.pass(ms - 1)
      expect(await scene.model.embedQuestion('pea')).to.equal(undefined)
      expect(endpoint.requests).to.deep.equal([])
      scene.pass(1)
      expect(await scene.model.embedQuestion('pea')).to.deep.equal(vectorsOf(['pea'])[0])
      expect(await scene.metric('embeddings_questions_total')).to.deep.equal({ skipped: 1, embedded: 1 })
    }
    const scene = sceneOf(endpoint.url)
    answers(503, { 'retry-after': 'soon' })
    expect((await failed(embed(scene, ['pea']))).retryAfterMs).to.equal(1_000)
  })

  it('is asked every 10 minutes if it refuses the key, the path or the model, and logged once', async () => {
    for (const status of [401, 402, 403, 404, 405, 410]) {
      const scene = sceneOf(endpoint.url)
      answers(status, {}, { error: { message: `Incorrect API key provided: ${key.slice(0, 5)}***` } })
      for (let at = 0; at < 3; at++) {
        expect((await failed(embed(scene, ['pea']))).retryAfterMs).to.equal(10 * minute)
        expect(await scene.model.embedQuestion('pea')).to.equal(undefined)
        scene.pass(10 * minute)
      }
      const [line, ...others] = scene.lines()
      expect(others).to.deep.equal([])
      expect(line).to.include({ level: 50, seconds: 600 })
      expect(line?.reason).to.match(new RegExp(`answered ${status}`))
      expect(scene.text()).not.to.include(key.slice(0, 5))
      expect(await scene.metric('embeddings_texts_total')).to.deep.equal({ failed: 3 })
    }
  })

  it('is refused if it redirects', async () => {
    answers(307, { location: `${endpoint.url}/other` })
    const scene = sceneOf(endpoint.url)
    const { message, retryAfterMs } = await failed(embed(scene, ['pea']))
    expect([message, retryAfterMs]).to.deep.equal([
      'The embeddings endpoint answered 307, a redirect, which is not followed. Correct EMBEDDINGS_URL.',
      10 * minute,
    ])
    expect(endpoint.requests.length).to.equal(1)
  })

  it('is away if its answer is torn, late, endless or broken off, and each is logged once', async () => {
    const write = (text: string, isEnd: boolean) => (_request: unknown, res: ServerResponse) => {
      res.writeHead(200, { 'content-type': 'application/json' })
      if (isEnd) res.end(text)
      else res.write(text)
    }
    const endless = (_request: unknown, res: ServerResponse) => {
      const part = Buffer.alloc(65_536, ' ')
      const more = () => {
        if (!res.destroyed && res.write(part)) setImmediate(more)
      }
      res.on('drain', more)
      more()
    }
    const trickle = (_request: unknown, res: ServerResponse) => {
      const timer = setInterval(() => res.write(' '), 20)
      res.on('close', () => clearInterval(timer))
    }
    const cases = [
      [write('{"data": [{"index": 0, "embed', true), /is not valid JSON/],
      [write('{"data": [NaN]}', true), /is not valid JSON/],
      [write(`{"data": ${'['.repeat(50_000)}`, true), /too many values/],
      [write(`[${'{},'.repeat(100_000)}{}]`, true), /too many values/],
      [write('{"data": ', false), /did not complete its answer within 0.3 seconds/],
      [() => {}, /did not complete its answer within 0.3 seconds/],
      [trickle, /did not complete its answer within 0.3 seconds/],
      [endless, /sent more than the 327,680 bytes allowed/],
      [(_request: unknown, res: ServerResponse) => res.destroy(), /closed the connection without an answer/],
    ] as const
    for (const [behaviour, reason] of cases) {
      endpoint.behaviour = (request, res) => void behaviour(request, res)
      // Only those that wait for the clock have a short one: the machine may be busy.
      const scene = sceneOf(endpoint.url, {}, { totalMs: reason.source.startsWith('did') ? 300 : 60_000 })
      const error = await failed(embed(scene, ['pea']))
      expect(error.message).to.match(reason)
      expect(error.retryAfterMs).to.equal(1_000)
      expect(scene.lines().map(({ level }) => level)).to.deep.equal([40])
      expect(scene.text()).not.to.include('pea')
    }
  })

  it('is away if nothing listens', async () => {
    await endpoint.close()
    const scene = sceneOf(endpoint.url)
    const { message, retryAfterMs } = await failed(embed(scene, ['pea']))
    expect(message).to.match(/refused the connection/)
    expect(retryAfterMs).to.equal(1_000)
    expect(await scene.model.embedQuestion('pea')).to.equal(undefined)
    expect(await scene.metric('embeddings_questions_total')).to.deep.equal({ failed: 1 })
  })

  it('ends with the signal of the caller, and when the model closes', async () => {
    endpoint.behaviour = () => {}
    const scene = sceneOf(endpoint.url)
    const controller = new AbortController()
    const call = failed(embed(scene, ['pea'], controller.signal))
    setImmediate(() => controller.abort())
    expect((await call).message).to.equal('The request for vectors was cancelled.')
    const calls = [failed(embed(scene, ['pea'])), scene.model.embedQuestion('pea')] as const
    setImmediate(() => scene.model.close())
    const [error, vector] = await Promise.all(calls)
    expect([error.message, vector]).to.deep.equal(['The request for vectors was cancelled.', undefined])
    await failed(embed(scene, ['pea']))
    expect(scene.lines()).to.deep.equal([])
  })

  it('loses no vector that was paid for when another request of the call fails', async () => {
    const texts = [...someTexts(32, 'first'), ...someTexts(32, 'second')]
    endpoint.behaviour = ({ body: { input } }, res, answer) =>
      input[0] === 'second 0' ? sendJson(res, 500, {}) : answer()
    const scene = sceneOf(endpoint.url)
    await failed(embed(scene, texts))
    endpoint.behaviour = undefined
    scene.pass(1_000)
    expect(await embed(scene, texts)).to.deep.equal(vectorsOf(texts))
    expect(endpoint.texts().filter((text) => text.startsWith('first')).length).to.equal(32)
  })
})

describe('an endpoint that refuses texts', () => {
  let endpoint: EmbeddingsEndpoint
  before(async () => {
    endpoint = await startEmbeddingsEndpoint()
  })
  beforeEach(() => {
    endpoint.requests.length = 0
  })
  after(() => endpoint.close())

  const refusing = (isRefused: (text: string) => boolean, status: number) => {
    endpoint.behaviour = ({ body: { input } }, res, answer) =>
      input.some(isRefused) ? sendJson(res, status, { error: { message: `Not taken: ${input.join(' ')}` } }) : answer()
  }

  it('gets all others, and each refused text is found, whichever they are', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.boolean(), { minLength: 1, maxLength: 40 }),
        fc.constantFrom(400, 413, 422),
        async (marks, status) => {
          const texts = marks.map((isRefused, at) => `${isRefused ? 'refused' : 'taken'} ${at}`)
          refusing((text) => text.startsWith('refused'), status)
          const scene = sceneOf(endpoint.url)
          const expected = vectorsOf(texts).map((vector, at) => (marks[at] ? undefined : vector))
          expect(await embed(scene, texts)).to.deep.equal(expected)
          expect(scene.text()).to.equal('')
        },
      ),
      { numRuns: runs(30) },
    )
  })

  it('is not asked more than needed for one text of 32', async () => {
    const texts = someTexts(32).map((text, at) => (at === 21 ? 'refused' : text))
    const scene = sceneOf(endpoint.url)
    endpoint.behaviour = undefined
    await embed(scene, ['pea'])
    refusing((text) => text === 'refused', 400)
    endpoint.requests.length = 0
    const vectors = await embed(scene, texts)
    expect(vectors.flatMap((vector, at) => (vector === undefined ? [at] : []))).to.deep.equal([21])
    expect(endpoint.requests.length).to.be.at.most(11)
  })

  it('that refuses every text has a wrong model or dimensions: no text is refused for good', async () => {
    refusing(() => true, 400)
    const scene = sceneOf(endpoint.url)
    const { message, retryAfterMs } = await failed(embed(scene, ['pea', 'boat']))
    expect(message).to.match(/refuses every text\. Check EMBEDDINGS_MODEL/)
    expect(retryAfterMs).to.equal(10 * minute)
    expect(scene.lines().map(({ level }) => level)).to.deep.equal([50])
    scene.pass(10 * minute)
    endpoint.behaviour = undefined
    expect(await embed(scene, ['pea', 'boat'])).to.deep.equal(vectorsOf(['pea', 'boat']))
  })

  it('by failing is found after four failures, if it takes a harmless text', async () => {
    refusing((text) => text === 'poison', 500)
    const scene = sceneOf(endpoint.url)
    const texts = [...someTexts(9), 'poison']
    for (let at = 0; at < 3; at++) scene.pass((await failed(embed(scene, texts))).retryAfterMs)
    const expected = [...vectorsOf(texts.slice(0, -1)), undefined]
    expect(await embed(scene, texts)).to.deep.equal(expected)
  })

  it('by failing for every text is asked for two texts at each retry, not for each', async () => {
    refusing(() => true, 500)
    const scene = sceneOf(endpoint.url)
    for (let at = 0; at < 6; at++) scene.pass((await failed(embed(scene, someTexts(20)))).retryAfterMs)
    expect(endpoint.requests.length).to.equal(3 + 3 * 2)
  })

  it('answers a question with nothing', async () => {
    refusing((text) => text === 'pea', 400)
    const scene = sceneOf(endpoint.url)
    expect(await scene.model.embedQuestion('pea')).to.equal(undefined)
    expect(await scene.metric('embeddings_questions_total')).to.deep.equal({ refused: 1 })
  })
})

describe('the reasons of an endpoint', () => {
  let endpoint: EmbeddingsEndpoint
  before(async () => {
    endpoint = await startEmbeddingsEndpoint()
  })
  after(() => endpoint.close())

  const logged = async (body: unknown, text: string) => {
    endpoint.behaviour = (_request, res) => {
      if (typeof body === 'string') res.writeHead(500).end(body)
      else sendJson(res, 500, body)
    }
    const scene = sceneOf(endpoint.url)
    const { message } = await failed(embed(scene, [text]))
    expect(message).to.equal('The embeddings endpoint answered 500.')
    return scene.lines()[0]?.provider
  }

  it('are logged up to 200 characters', async () => {
    const reason = 'The model is being loaded. '.repeat(20)
    for (const body of [
      { error: { message: reason } },
      { error: reason },
      { message: reason },
      { detail: reason },
      reason,
    ])
      expect(await logged(body, 'pea soup with bread')).to.equal(reason.slice(0, 200))
    expect(await logged({ other: 1 }, 'pea')).to.equal(undefined)
    expect(await logged('two\nlines\u0007', 'pea')).to.equal('two lines')
  })

  it('are left out if they quote a text or the key, also in part, escaped or in other letters', async () => {
    const text = 'Ann "owes" Bob\n100 dollars since the party in June'
    for (const reason of [
      `Invalid input: ${text}`,
      `Invalid input: ${JSON.stringify(text)}`,
      `Invalid input: ${text.toUpperCase()}`,
      `${'x'.repeat(195)} ${text}`,
      'Invalid input near "100 dollars since"',
      `Wrong key ${key}`,
      `Wrong key ${key.slice(0, 18)}`,
    ])
      expect(await logged({ error: { message: reason } }, text), reason).to.equal(undefined)
    expect(await logged({ error: 'Cannot embed: soup' }, 'Soup')).to.equal(undefined)
  })

  it('never show the key or a text in what is thrown', async () => {
    endpoint.behaviour = (_request, res) => sendJson(res, 400, { error: key })
    const scene = sceneOf(endpoint.url)
    const { message, stack } = await failed(embed(scene, ['a secret sentence']))
    for (const text of [message, stack, scene.text()]) expect(text).not.to.match(/sk-very|a secret sentence/)
  })
})
