/** Answers of a Grove elsewhere, read no further than an answer of one can be long. */

import { answerBounds, exceededBound } from '../base/json-bounds.ts'

/** Bytes of an answer: a file of 16 MiB, of which each character may be escaped. */
const maxBytes = 64 * 1_048_576

/** The same answer, read to its end. @throws Error beyond 64 MiB, where the connection ends, too; of JSON, beyond answerBounds */
export async function boundedAnswer(answer: Response): Promise<Response> {
  if (answer.body === null) return answer
  const reader = answer.body.getReader()
  const chunks: Uint8Array[] = []
  let bytes = 0
  for (;;) {
    const { done, value } = await reader.read()
    if (done) break
    bytes += value.length
    if (bytes > maxBytes) {
      const error = new Error(`The answer has more than ${maxBytes / 1_048_576} MiB`)
      // A transform that fails ends its source at another time in each version of Node.
      reader.cancel(error).catch(() => {})
      throw error
    }
    chunks.push(value)
  }
  const body = Buffer.concat(chunks)
  const exceeded = answer.headers.get('content-type')?.includes('json') && exceededBound(body, answerBounds)
  if (exceeded) throw new Error(`The answer has more ${exceeded} than a Grove answers`)
  return new Response(body, answer)
}
