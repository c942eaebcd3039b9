/** A model behind an endpoint: what is sent, and which answers become vectors. */

import { expect } from 'chai'
import fc from 'fast-check'
import { modelId } from '../../server/domain/embeddings/model-id.ts'
import { quantised } from '../../server/domain/embeddings/quantise.ts'
import {
  type AnswerBody,
  type EmbeddingsEndpoint,
  endpointDimensions,
  sendJson,
  startEmbeddingsEndpoint,
} from '../support/embeddings-endpoint.ts'
import { until } from '../support/until.ts'
import { embed, failed, key, sceneOf, someTexts, vectorsOf } from './scene.ts'

describe('quantised vectors', () => {
  it('keep the direction, and their largest value is 127', () => {
    const value = fc.double({ min: -1e300, max: 1e300, noNaN: true })
    fc.assert(
      fc.property(
        fc.array(value, { minLength: 1, maxLength: 50 }).filter((all) => all.some((one) => one !== 0)),
        (values) => {
          const vector = quantised(values)
          const most = Math.max(...values.map(Math.abs))
          expect(Math.max(...vector.map(Math.abs))).to.equal(127)
          for (const [at, one] of values.entries())
            expect(Math.abs((vector[at] ?? 0) - (one / most) * 127)).to.be.at.most(0.5000001)
        },
      ),
    )
  })

  it('do not exist for zeros and for values that are not finite', () => {
    for (const values of [[], [0], [0, -0], [Number.NaN], [1, Number.POSITIVE_INFINITY], [Number.NEGATIVE_INFINITY]])
      expect(() => quantised(values), values.join()).to.throw(RangeError)
  })
})

describe('the endpoint model', () => {
  let endpoint: EmbeddingsEndpoint
  beforeEach(async () => {
    endpoint = await startEmbeddingsEndpoint()
  })
  afterEach(() => endpoint.close())

  it('sends the model, the key and the texts, and returns vectors in the order of the texts', async () => {
    const scene = sceneOf(endpoint.url)
    const texts = ['Soup with peas', 'A boat', 'Soup with peas', '']
    expect(await embed(scene, texts)).to.deep.equal(vectorsOf(texts))
    const [request, ...others] = endpoint.requests
    expect(others).to.deep.equal([])
    expect(request?.url).to.equal('/v1/embeddings')
    expect(request?.headers).to.include({ authorization: `Bearer ${key}`, 'content-type': 'application/json' })
    expect(request?.body).to.deep.equal({
      model: 'letters',
      input: ['Soup with peas', 'A boat', ''],
      encoding_format: 'base64',
    })
    expect(await scene.metric('embeddings_texts_total')).to.deep.equal({ embedded: 3, refused: 0 })
    expect(await scene.metric('embeddings_tokens_total')).to.deep.equal({ '': 5 })
    expect(scene.lines()).to.deep.equal([])
  })

  it('puts prefixes in front, and asks for dimensions', async () => {
    const scene = sceneOf(endpoint.url, {
      EMBEDDINGS_TEXT_PREFIX: 'passage: ',
      EMBEDDINGS_QUERY_PREFIX: 'query: ',
      EMBEDDINGS_DIMENSIONS: String(endpointDimensions),
    })
    expect(await embed(scene, ['pea'])).to.deep.equal(vectorsOf(['passage: pea']))
    expect(await scene.model.embedQuestion('pea')).to.deep.equal(vectorsOf(['query: pea'])[0])
    expect(endpoint.requests.map(({ body }) => body.dimensions)).to.deep.equal([64, 64])
  })

  it('has an identity of its name, dimensions and prefixes', () => {
    const { model } = sceneOf(endpoint.url)
    expect(model.id).to.equal(modelId({ name: 'letters', textPrefix: '', queryPrefix: '' }))
    expect(model.id).to.match(/^[\da-f]{32}$/)
    const others = [
      { EMBEDDINGS_MODEL: 'words' },
      { EMBEDDINGS_DIMENSIONS: '64' },
      { EMBEDDINGS_TEXT_PREFIX: 'a' },
      { EMBEDDINGS_QUERY_PREFIX: 'a' },
    ].map((variables) => sceneOf(endpoint.url, variables).model.id)
    expect(new Set([model.id, ...others]).size).to.equal(5)
    expect(sceneOf('https://api.example/v1', { EMBEDDINGS_KEY: 'other' }).model.id).to.equal(model.id)
  })

  it('says whether texts leave this machine, and in which languages it understands questions', () => {
    const of = (url: string, variables = {}) => sceneOf(url, variables).model
    expect(of('http://127.0.0.1:11434/v1').leavesMachine).to.equal(false)
    expect(of('http://localhost:11434/v1').leavesMachine).to.equal(false)
    expect(of('https://api.example/v1').leavesMachine).to.equal(true)
    expect(of('http://10.0.0.1/v1', { EMBEDDINGS_HTTP: 'on' }).leavesMachine).to.equal(true)
    expect(of(endpoint.url).languages).to.equal(undefined)
    expect(of(endpoint.url, { EMBEDDINGS_LANGUAGES: 'en, de' }).languages).to.deep.equal(['en', 'de'])
  })

  it('sends at most 32 texts and 32,000 characters a request, two requests at once', async () => {
    let running = 0
    let most = 0
    endpoint.behaviour = async (_request, _res, answer) => {
      running += 1
      most = Math.max(most, running)
      await until(() => endpoint.requests.length >= 2)
      running -= 1
      answer()
    }
    const texts = [...someTexts(70), ...Array.from({ length: 20 }, (_, at) => String(at).padEnd(2_400, 'x '))]
    expect(await embed(sceneOf(endpoint.url), texts)).to.deep.equal(vectorsOf(texts))
    const sent = endpoint.requests.map(({ body }) => body.input)
    for (const input of sent) {
      expect(input.length).to.be.at.most(32)
      expect(input.join('').length).to.be.at.most(32_000)
    }
    expect(sent.flat().sort()).to.deep.equal([...texts].sort())
    expect([sent.length, most]).to.deep.equal([4, 2])
  })

  it('reads floats if the endpoint ignores or refuses base64, and remembers a refusal', async () => {
    endpoint.behaviour = (_request, _res, answer) => answer(asFloats)
    expect(await embed(sceneOf(endpoint.url), ['pea'])).to.deep.equal(vectorsOf(['pea']))

    endpoint.requests.length = 0
    endpoint.behaviour = ({ body }, res, answer) => {
      if (body.encoding_format === undefined) answer()
      else sendJson(res, 400, { error: { message: 'Unknown field encoding_format' } })
    }
    const scene = sceneOf(endpoint.url)
    for (const text of ['pea', 'boat']) expect(await embed(scene, [text])).to.deep.equal(vectorsOf([text]))
    expect(endpoint.requests.map(({ body }) => body.encoding_format)).to.deep.equal(['base64', undefined, undefined])
    expect(scene.lines()).to.deep.equal([])
  })

  it('orders vectors by their index', async () => {
    endpoint.behaviour = (_request, _res, answer) => answer((body) => ({ ...body, data: [...body.data].reverse() }))
    const texts = someTexts(32)
    expect(await embed(sceneOf(endpoint.url), texts)).to.deep.equal(vectorsOf(texts))
  })

  const wrong: readonly (readonly [string, (body: AnswerBody) => unknown, RegExp])[] = [
    ['too many vectors', (body) => ({ data: [...body.data, ...body.data] }), /has 4 vectors for 2 texts/],
    ['too few', (body) => ({ data: body.data.slice(1) }), /has 1 vectors for 2 texts/],
    ['an index twice', (body) => ({ data: body.data.map((one) => ({ ...one, index: 0 })) }), /number its vectors/],
    ['an index too high', (body) => ({ data: body.data.map((one) => ({ ...one, index: one.index + 1 })) }), /number/],
    ['no index', (body) => ({ data: body.data.map(({ embedding }) => ({ embedding })) }), /number its vectors/],
    ['no list', () => ({ data: 'none' }), /no list/],
    ['another kind', () => [1, 2], /no list/],
    ['null', () => null, /no list/],
    ['no vectors', (body) => ({ data: body.data.map(({ index }) => ({ index })) }), /neither base64 nor a list/],
    ['empty vectors', (body) => ({ data: body.data.map(({ index }) => ({ index, embedding: [] })) }), /0 dimensions/],
    ['torn base64', (body) => ({ data: body.data.map((one) => ({ ...one, embedding: 'AAA' })) }), /not base64/],
    ['different dimensions', (body) => changed(asFloats(body), 1, [1]), /1 dimensions, not 64/],
    [
      'too many dimensions',
      (body) => ({ data: body.data.map((one) => ({ ...one, embedding: new Array(4_097).fill(1) })) }),
      /4097 dimensions/,
    ],
  ]
  for (const [name, change, reason] of wrong)
    it(`takes no vector from an answer with ${name}`, async () => {
      endpoint.behaviour = (_request, _res, answer) => answer(change)
      const scene = sceneOf(endpoint.url)
      const error = await failed(embed(scene, ['pea', 'boat']))
      expect(error.message).to.match(reason)
      expect(error.retryAfterMs).to.equal(1_000)
      expect(scene.lines().map(({ level, seconds }) => ({ level, seconds }))).to.deep.equal([{ level: 40, seconds: 1 }])
      endpoint.behaviour = undefined
      scene.pass(1_000)
      expect(await embed(scene, ['pea', 'boat'])).to.deep.equal(vectorsOf(['pea', 'boat']))
    })

  it('requires the dimensions that were configured or stored, and learns none from an answer', async () => {
    const configured = sceneOf(endpoint.url, { EMBEDDINGS_DIMENSIONS: '32' })
    expect((await failed(embed(configured, ['pea']))).message).to.match(/64 dimensions, not 32/)
    const scene = sceneOf(endpoint.url)
    let stored: number | undefined
    scene.model.expectDimensions(async () => stored)
    const odd: EmbeddingsEndpoint['behaviour'] = (_request, _res, answer) => answer((body) => changed(body, 0, [1, 2]))
    endpoint.behaviour = odd
    expect(await scene.model.embedQuestion('soup')).to.have.length(2)
    expect(await embed(scene, ['boat'])).to.deep.equal([Int8Array.of(64, 127)])
    endpoint.behaviour = undefined
    expect(await embed(scene, ['boat'])).to.deep.equal(vectorsOf(['boat']))
    stored = 64
    endpoint.behaviour = odd
    expect(await scene.model.embedQuestion('bread')).to.equal(undefined)
    expect((await failed(embed(scene, ['pea']))).message).to.match(/2 dimensions, not 64/)
  })

  it('mixes no dimensions in one call, and keeps none that others than the stored have', async () => {
    const texts = someTexts(64)
    const scene = sceneOf(endpoint.url)
    let stored: number | undefined
    scene.model.expectDimensions(async () => stored)
    const answerShort = (isRestFailing: boolean): EmbeddingsEndpoint['behaviour'] => {
      return ({ body: { input } }, res, answer) => {
        if (input[0] === 'text 0') answer(({ data }) => ({ data: data.map((one) => ({ ...one, embedding: [1, 2] })) }))
        else if (isRestFailing) sendJson(res, 500, {})
        else answer()
      }
    }
    endpoint.behaviour = answerShort(false)
    const { message, retryAfterMs } = await failed(embed(scene, texts))
    expect(message).to.match(/vectors of (2 and 64|64 and 2) dimensions\.$/)
    scene.pass(retryAfterMs)
    endpoint.behaviour = answerShort(true)
    scene.pass((await failed(embed(scene, texts))).retryAfterMs)
    stored = 64
    endpoint.behaviour = undefined
    expect(await embed(scene, texts)).to.deep.equal(vectorsOf(texts))
  })

  it('gives up on a text without a direction, and embeds the others', async () => {
    for (const embedding of [
      new Array(64).fill(0),
      new Array(64).fill(null),
      Buffer.from(new Float32Array(64).fill(Number.NaN).buffer).toString('base64'),
    ]) {
      endpoint.behaviour = ({ body: { input } }, _res, answer) =>
        answer((body) => (input.includes('odd') ? changed(body, input.indexOf('odd'), embedding) : body))
      const scene = sceneOf(endpoint.url)
      expect(await embed(scene, ['pea', 'odd', 'boat'])).to.deep.equal([
        ...vectorsOf(['pea']),
        undefined,
        ...vectorsOf(['boat']),
      ])
      expect(await embed(scene, ['odd'])).to.deep.equal([undefined])
      expect(await scene.metric('embeddings_texts_total')).to.deep.equal({ embedded: 2, refused: 2 })
    }
  })
})

function asFloats(body: AnswerBody): AnswerBody {
  const floats = (embedding: string | readonly number[]) => {
    if (typeof embedding !== 'string') return embedding
    const { buffer } = Uint8Array.from(Buffer.from(embedding, 'base64'))
    return [...new Float32Array(buffer)]
  }
  return { ...body, data: body.data.map(({ index, embedding }) => ({ index, embedding: floats(embedding) })) }
}

/** The answer with another vector at an index. */
function changed(body: AnswerBody, at: number, embedding: string | readonly number[]): AnswerBody {
  return { ...body, data: body.data.map((one) => (one.index === at ? { ...one, embedding } : one)) }
}
