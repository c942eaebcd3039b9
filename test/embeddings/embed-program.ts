/** Embeds the lines of its standard input by the local model, and writes the vectors as JSON. */
import { text } from 'node:stream/consumers'
import { pino } from 'pino'
import { openLocalModel } from '../../server/domain/embeddings/local-model.ts'
import { newMetrics } from '../../server/metrics/metrics.ts'

const [folder = ''] = process.argv.slice(2)
const log = pino({}, process.stderr)
const model = await openLocalModel({ log, now: () => new Date(), metrics: newMetrics(), folder, lateMs: 60_000 })
const lines = (await text(process.stdin)).split('\n')
const texts = await model.embedTexts(lines, new AbortController().signal)
const question = await model.embedQuestion(lines[0] ?? '')
await model.close()
process.stdout.write(JSON.stringify({ id: model.id, texts: texts.map(listOf), question: listOf(question) }))

function listOf(vector: Int8Array | undefined): number[] | undefined {
  return vector && [...vector]
}
