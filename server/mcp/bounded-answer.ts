/** Answers of a Grove elsewhere, read no further than an answer of one can be long. */

/** Bytes of an answer: a file of 16 MiB, of which each character may be escaped. */
const maxBytes = 64 * 1_048_576

/** The same answer. Reading its body fails, and ends the connection, beyond 64 MiB. */
export function boundedAnswer(answer: Response): Response {
  let bytes = 0
  const count = new TransformStream<Uint8Array, Uint8Array>({
    transform: (chunk, controller) => {
      bytes += chunk.length
      if (bytes > maxBytes) controller.error(new Error(`The answer has more than ${maxBytes / 1_048_576} MiB`))
      else controller.enqueue(chunk)
    },
  })
  return answer.body === null ? answer : new Response(answer.body.pipeThrough(count), answer)
}
