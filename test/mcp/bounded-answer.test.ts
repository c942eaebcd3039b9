/** What `grove mcp` reads of an answer. */

import { expect } from 'chai'
import { boundedAnswer } from '../../server/mcp/bounded-answer.ts'

describe('an answer that `grove mcp` reads', () => {
  const mebibyte = new Uint8Array(1_048_576)

  it('is the same, whatever its status', async () => {
    const answer = boundedAnswer(new Response('gone', { status: 404, headers: { 'retry-after': '3' } }))
    expect([answer.status, answer.headers.get('retry-after'), await answer.text()]).to.deep.equal([404, '3', 'gone'])
    expect(boundedAnswer(new Response(null, { status: 204 })).status).to.equal(204)
  })

  it('ends beyond 64 MiB, and so does the connection', async () => {
    let [sent, isEnded] = [0, false]
    const endless = new ReadableStream<Uint8Array>({
      pull: (controller) => {
        sent++
        controller.enqueue(mebibyte)
      },
      cancel: () => {
        isEnded = true
      },
    })
    const read = await boundedAnswer(new Response(endless))
      .json()
      .catch(({ message }: Error) => message)
    expect([read, isEnded]).to.deep.equal(['The answer has more than 64 MiB', true])
    expect(sent).to.be.below(70)
  })
})
