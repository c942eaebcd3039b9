/** `grove mcp` bounds the answers that it reads. */

import { expect } from 'chai'
import { boundedAnswer } from '../../server/mcp/bounded-answer.ts'

describe('an answer that `grove mcp` reads', () => {
  const mebibyte = new Uint8Array(1_048_576)

  it('is the same, with any status', async () => {
    const answer = await boundedAnswer(new Response('gone', { status: 404, headers: { 'retry-after': '3' } }))
    expect([answer.status, answer.headers.get('retry-after'), await answer.text()]).to.deep.equal([404, '3', 'gone'])
    expect((await boundedAnswer(new Response(null, { status: 204 }))).status).to.equal(204)
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
    const read = await boundedAnswer(new Response(endless)).catch(({ message }: Error) => message)
    expect([read, isEnded]).to.deep.equal(['The answer is larger than 64 MiB', true])
    expect(sent).to.be.below(70)
  })

  it('has no more objects than a Grove service sends, and is no deeper', async () => {
    const headers = { 'content-type': 'application/json' }
    const refused = (body: string) =>
      boundedAnswer(new Response(body, { headers })).then(
        () => 'none',
        ({ message }: Error) => message,
      )
    expect(await refused(`[${'{},'.repeat(600_000)}{}]`)).to.equal(
      'The answer has more values than a Grove service sends',
    )
    expect(await refused('['.repeat(1_000_000))).to.equal('The answer has more levels than a Grove service sends')
    expect(await refused(`{"text": "${'[{,'.repeat(600_000)}"}`)).to.equal('none')
  })
})
