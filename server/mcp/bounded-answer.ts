/** Reads answers of a remote Grove, up to the largest size that a Grove sends. */

import { answerBounds, exceededBound } from '../base/json-bounds.ts'
import * as limits from '../base/limits.ts'

/**
 * Reads an answer to its end and returns a copy of it.
 *
 * @throws Error beyond 64 MiB, which also ends the connection, or for JSON that exceeds answerBounds
 */
export async function boundedAnswer(answer: Response): Promise<Response> {
  if (answer.body === null) return answer
  const reader = answer.body.getReader()
  const chunks: Uint8Array[] = []
  let bytes = 0
  for (;;) {
    const { done, value } = await reader.read()
    if (done) break
    bytes += value.length
    if (bytes > limits.mcpAnswerBytes) {
      const error = new Error(`The answer is larger than ${limits.mcpAnswerBytes / 1_048_576} MiB`)
      // Explicitly, because versions of Node differ in when a failed transform ends its source.
      reader.cancel(error).catch(() => {})
      throw error
    }
    chunks.push(value)
  }
  const body = Buffer.concat(chunks)
  const exceeded = answer.headers.get('content-type')?.includes('json') && exceededBound(body, answerBounds)
  if (exceeded) throw new Error(`The answer has more ${exceeded} than a Grove service sends`)
  return new Response(body, answer)
}
