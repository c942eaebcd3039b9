/** Vectors of questions: cached, shared, cut, and never waited for long. */

import { expect } from 'chai'
import { type EmbeddingsEndpoint, sendJson, startEmbeddingsEndpoint } from '../support/embeddings-endpoint.ts'
import { newGate } from '../support/gate.ts'
import { until } from '../support/until.ts'
import { sceneOf, someTexts, vectorsOf } from './scene.ts'

const patient = { lateMs: 300_000, totalMs: 300_000 }

describe('a question', () => {
  let endpoint: EmbeddingsEndpoint
  beforeEach(async () => {
    endpoint = await startEmbeddingsEndpoint()
  })
  afterEach(() => endpoint.close())

  const states = (scene: ReturnType<typeof sceneOf>) => scene.metric('embeddings_questions_total')
  const circuit = async (scene: ReturnType<typeof sceneOf>) => (await scene.metric('embeddings_circuit_open'))['']

  it.deep('is embedded once, and the last 1,000 are remembered', async () => {
    const scene = sceneOf(endpoint.url, { EMBEDDINGS_RATE: '100000' }, patient)
    const ask = (text: string) => scene.model.embedQuestion(text)
    for (let at = 0; at < 3; at++) expect(await ask('soup')).to.deep.equal(vectorsOf(['soup'])[0])
    expect(await states(scene)).to.deep.equal({ embedded: 1, cached: 2 })
    const others = someTexts(999)
    for (const text of others) await ask(text)
    await ask('soup')
    expect(endpoint.requests.length).to.equal(1_000)
    await ask('one more')
    await ask('soup')
    await ask('text 0')
    expect(endpoint.requests.length).to.equal(1_002)
  })

  it('is one request for all who ask it at once', async () => {
    const gate = newGate()
    endpoint.behaviour = async (_request, _res, answer) => {
      await gate.opened
      answer()
    }
    const scene = sceneOf(endpoint.url, {}, patient)
    const controller = new AbortController()
    const asked = [1, 2, 3].map(() => scene.model.embedQuestion('soup'))
    const given = scene.model.embedQuestion('soup', controller.signal)
    controller.abort()
    expect(await given).to.equal(undefined)
    gate.open()
    for (const vector of await Promise.all(asked)) expect(vector).to.deep.equal(vectorsOf(['soup'])[0])
    expect(endpoint.requests.length).to.equal(1)
    expect(await states(scene)).to.deep.equal({ embedded: 1, cached: 2, skipped: 1 })
  })

  it('is cut at 2,400 UTF-16 units, between characters', async () => {
    const scene = sceneOf(endpoint.url, {}, patient)
    await scene.model.embedQuestion('a'.repeat(3_000))
    await scene.model.embedQuestion(`${'b'.repeat(2_399)}😀`)
    await scene.model.embedQuestion(`${'c'.repeat(2_398)}😀`)
    expect(endpoint.texts()).to.deep.equal(['a'.repeat(2_400), 'b'.repeat(2_399), `${'c'.repeat(2_398)}😀`])
    expect(await scene.model.embedQuestion('a'.repeat(2_500))).to.be.instanceOf(Int8Array)
    expect(endpoint.requests.length).to.equal(3)
  })

  it('that is late stays without a vector, and the next equal one has it', async () => {
    const gate = newGate()
    endpoint.behaviour = async (_request, _res, answer) => {
      await gate.opened
      answer()
    }
    const scene = sceneOf(endpoint.url, {}, { ...patient, lateMs: 30 })
    expect(await scene.model.embedQuestion('soup')).to.equal(undefined)
    expect(await scene.model.embedQuestion('soup')).to.equal(undefined)
    expect(await states(scene)).to.deep.equal({ late: 2 })
    gate.open()
    await until(async () => (await scene.model.embedQuestion('soup')) !== undefined)
    expect(endpoint.requests.length).to.equal(1)
  })

  it('is not sent for 30 s after five failures, and then one tries', async () => {
    endpoint.behaviour = (_request, res) => sendJson(res, 500, {})
    const scene = sceneOf(endpoint.url, {}, patient)
    const ask = (text: string) => scene.model.embedQuestion(text)
    for (const text of someTexts(5)) await ask(text)
    expect([await circuit(scene), endpoint.requests.length]).to.deep.equal([1, 5])
    endpoint.behaviour = undefined
    scene.pass(29_999)
    expect(await ask('soup')).to.equal(undefined)
    expect(endpoint.requests.length).to.equal(5)
    endpoint.behaviour = (_request, res) => sendJson(res, 500, {})
    scene.pass(1)
    await Promise.all(someTexts(4, 'trial').map(ask))
    expect([await circuit(scene), endpoint.requests.length]).to.deep.equal([1, 6])
    endpoint.behaviour = undefined
    scene.pass(30_000)
    expect(await ask('soup')).to.deep.equal(vectorsOf(['soup'])[0])
    expect(await circuit(scene)).to.equal(0)
    expect(await ask('pea')).to.deep.equal(vectorsOf(['pea'])[0])
    expect(await states(scene)).to.deep.equal({ failed: 6, skipped: 4, embedded: 2 })
  })

  it('that is late often enough to open the circuit is logged once, without its text', async () => {
    endpoint.behaviour = () => {}
    const scene = sceneOf(endpoint.url, {}, { ...patient, lateMs: 5 })
    for (const text of someTexts(5, 'secret')) await scene.model.embedQuestion(text)
    for (let at = 0; at < 2; at++) {
      scene.pass(30_000)
      await scene.model.embedQuestion(`secret trial ${at}`)
    }
    expect(await states(scene)).to.deep.equal({ late: 7 })
    const [line, ...others] = scene.lines()
    expect(others).to.deep.equal([])
    expect(line).to.include({ level: 40, seconds: 30, reason: 'The model did not answer in time.' })
    expect(scene.text()).not.to.match(/secret|sk-/)
    await scene.model.close()
  })

  it('closes the circuit by success, and does not open it when the endpoint refuses texts', async () => {
    const scene = sceneOf(endpoint.url, {}, patient)
    const ask = (text: string) => scene.model.embedQuestion(text)
    for (let at = 0; at < 3; at++) {
      endpoint.behaviour = (_request, res) => sendJson(res, 500, {})
      for (const text of someTexts(4)) await ask(text)
      endpoint.behaviour = undefined
      expect(await ask(`works ${at}`)).to.be.instanceOf(Int8Array)
    }
    endpoint.behaviour = (_request, res) => sendJson(res, 400, {})
    for (const text of someTexts(8, 'refused')) await ask(text)
    endpoint.behaviour = undefined
    expect(await ask('soup')).to.be.instanceOf(Int8Array)
    expect(await circuit(scene)).to.equal(0)
  })

  it('has one of eight places', async () => {
    const gate = newGate()
    endpoint.behaviour = async (_request, _res, answer) => {
      await gate.opened
      answer()
    }
    const scene = sceneOf(endpoint.url, {}, patient)
    const asked = someTexts(8).map((text) => scene.model.embedQuestion(text))
    await until(() => endpoint.requests.length === 8)
    expect(await scene.model.embedQuestion('soup')).to.equal(undefined)
    gate.open()
    for (const vector of await Promise.all(asked)) expect(vector).to.be.instanceOf(Int8Array)
    expect(await scene.model.embedQuestion('soup')).to.be.instanceOf(Int8Array)
  })

  it('does not delay texts when it fails', async () => {
    endpoint.behaviour = (_request, res) => sendJson(res, 500, {})
    const scene = sceneOf(endpoint.url, {}, patient)
    await scene.model.embedQuestion('soup')
    endpoint.behaviour = undefined
    const { signal } = new AbortController()
    expect(await scene.model.embedTexts(['pea'], signal)).to.deep.equal(vectorsOf(['pea']))
  })
})
