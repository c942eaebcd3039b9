/** The cost of one search. With texts of any length, others are served, and little is kept. */
import { expect } from 'chai'
import { type Grove, startGrove } from '../support/grove.ts'
import { client, type PersonClient, signUp } from '../support/people.ts'

const kib = 1_024

describe('search of long texts', () => {
  let grove: Grove
  before(async () => {
    grove = await startGrove()
  })
  after(() => grove.close())

  it('answers others while it reads texts of many different words', async () => {
    const ann = await signUp(grove, 'Ann')
    for (const letter of ['a', 'b', 'c', 'd'])
      await write(ann, { title: letter, text_content: differentWords(256 * kib, letter) })
    let isDone = false
    const found = find(ann, 'zebra').finally(() => {
      isDone = true
    })
    let served = 0
    for (; !isDone; served++) await client(grove).get('/healthz')
    await found
    // The words of one of these texts take longer than ten such requests.
    expect(served).to.be.above(10)
  })

  it('answers another organisation while it reads those of one', async () => {
    const [bob, cid] = [await signUp(grove, 'Bob'), await signUp(grove, 'Cid')]
    for (const letter of ['a', 'b', 'c', 'd'])
      await write(bob, { title: letter, text_content: differentWords(256 * kib, letter) })
    await write(cid, { title: 'A zebra' })
    const order: string[] = []
    await Promise.all([
      find(bob, 'zebra').then(() => order.push('long')),
      find(cid, 'zebra').then(() => order.push('short')),
    ])
    expect(order).to.deep.equal(['short', 'long'])
  })

  it('finds what stands in the first 256 KiB, cut between two letters, and answers the whole text', async () => {
    const dan = await signUp(grove, 'Dan')
    const beginning = `zebra ${'é'.repeat(128 * kib - 8)} quagga`
    expect(Buffer.byteLength(beginning)).to.equal(256 * kib - 3)
    const text_content = `${beginning} €€ okapi`
    await write(dan, { title: 'Long', text_content })
    await write(dan, { title: 'Short', text_content: 'A zebra.' })
    await write(dan, { title: 'Empty' })
    const { matches, nodes } = await find(dan, 'quagga zebra', { include_raw_text: true })
    expect(matches.map(({ title }: { title: string }) => title)).to.deep.equal(['Long', 'Short'])
    // Of the passage with the rarer word.
    expect(matches[0].passage).to.deep.equal({ heading: '', line: 1 })
    expect(matches[0].snippet).to.match(/^éé+$/)
    expect(nodes.map((node: Found) => [node.title, node.partly_indexed, node.text_content])).to.deep.equal([
      ['Long', true, text_content],
      ['Short', undefined, 'A zebra.'],
    ])
    expect((await find(dan, 'okapi')).matches).to.deep.equal([])
  })

  it('lets 64 of a person wait and tells more of them to come again', async () => {
    const fay = await signUp(grove, 'Fay')
    for (const letter of ['a', 'b', 'c'])
      await write(fay, { title: letter, text_content: differentWords(32 * kib, letter) })
    const ask = () => fay.hasty.post(`/orgs/${fay.org}/search/retrieve`, { query: 'zebra' })
    const answers = await Promise.all(Array.from({ length: 80 }, ask))
    const refused = answers.filter(({ status }) => status === 503)
    expect(answers.length - refused.length).to.be.at.least(64)
    expect(refused[0]?.body.code).to.equal('busy')
    expect(refused[0]?.headers['retry-after']).to.match(/^\d+$/)
  })

  it('keeps places for members, where one address searches too', async () => {
    const gus = await signUp(grove, 'Gus')
    for (const letter of ['a', 'b', 'c'])
      await write(gus, { title: letter, text_content: differentWords(32 * kib, letter) })
    expect((await gus.patch(`/orgs/${gus.org}`, { published: true })).status).to.equal(200)
    const path = `/orgs/${gus.org}/search/retrieve`
    const asked = Array.from({ length: 40 }, () => client(grove).hasty.post(path, { query: 'zebra' }))
    const answers = await Promise.all([...asked, gus.hasty.post(path, { query: 'zebra' })])
    const statuses = answers.map(({ status }) => status)
    expect(statuses.filter((status) => status === 503).length).to.be.within(1, 9)
    expect(statuses.at(-1)).to.equal(200)
  })

  interface Found {
    title: string
    partly_indexed?: boolean
    text_content?: string
  }

  /** The path of a new node. */
  async function write(person: PersonClient, body: object): Promise<string> {
    const answer = await person.post(`/orgs/${person.org}/nodes`, body)
    expect(answer.status).to.equal(201)
    return `/orgs/${person.org}/nodes/${answer.body.id}`
  }

  async function find(person: PersonClient, query: string, more: object = {}) {
    const { status, body } = await person.post(`/orgs/${person.org}/search/retrieve`, { query, ...more })
    expect(status).to.equal(200)
    return body
  }
})

/** Words of letters, none twice. */
function differentWords(bytes: number, prefix = 'x'): string {
  const words: string[] = []
  for (let length = 0, i = 0; length < bytes; i++) {
    const word = prefix + letters(i * 7)
    words.push(word)
    length += word.length + 1
  }
  return words.join(' ').slice(0, bytes)
}

function letters(number: number): string {
  return number
    .toString(26)
    .replace(/[0-9a-p]/g, (digit) => 'qwrtzpsdfghjklyxcvbnmaeiou'[Number.parseInt(digit, 26)] ?? '')
}
