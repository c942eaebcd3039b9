/** What one search may cost: however long the texts are, all others are served meanwhile, and little of them is kept. */
import { mock } from 'node:test'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { expect } from 'chai'
import { client, type Grove, type PersonClient, signUp, startGrove } from '../support/grove.ts'
import { createSearchIndex } from './rows-in-memory.ts'

const kib = 1_024
const mib = 1_024 * kib

describe('search of long texts', () => {
  let grove: Grove
  before(async () => {
    grove = await startGrove()
  })
  after(() => grove.close())

  it('answers others while it reads a text of many different words, again when that has changed, and takes it out again', async () => {
    const ann = await signUp(grove, 'Ann')
    const node = await write(ann, { title: 'Words', text_content: differentWords(16 * kib) })
    expect(await servedDuring(() => find(ann, 'zebra'))).to.be.above(40)
    await ann.patch(node, { text_content: differentWords(16 * kib, 'y') })
    expect(await servedDuring(() => find(ann, 'zebra'))).to.be.above(80)
    await ann.delete(node)
    expect(await servedDuring(() => find(ann, 'zebra'))).to.be.above(40)
  })

  it('answers others while it looks for the passages that fit a long question best', async () => {
    const bob = await signUp(grove, 'Bob')
    const words = Array.from({ length: 64 }, (_, i) => `wort${letters(i)}`).join(' ')
    const text_content = `${words}\n`.repeat((32 * kib) / (words.length + 1))
    for (const title of ['A', 'B', 'C', 'D']) await write(bob, { title, text_content })
    await find(bob, 'worta')
    expect(await servedDuring(() => find(bob, `${words} `.repeat(24)))).to.be.above(100)
  })

  it('finds what stands in the first 256 KiB, cut between two letters, and answers the whole text', async () => {
    const cid = await signUp(grove, 'Cid')
    const beginning = `zebra ${'é'.repeat(128 * kib - 8)} quagga`
    expect(Buffer.byteLength(beginning)).to.equal(256 * kib - 3)
    const text_content = `${beginning} €€ okapi`
    await write(cid, { title: 'Long', text_content })
    await write(cid, { title: 'Short', text_content: 'A zebra.' })
    await write(cid, { title: 'Empty' })
    const { matches, nodes } = await find(cid, 'quagga zebra', { include_raw_text: true })
    expect(matches.map(({ title }: { title: string }) => title)).to.deep.equal(['Long', 'Short'])
    expect(matches[0].snippet).to.match(/^zebra éé+$/)
    expect(nodes.map((node: Found) => [node.title, node.partly_indexed, node.text_content])).to.deep.equal([
      ['Long', true, text_content],
      ['Short', undefined, 'A zebra.'],
    ])
    expect((await find(cid, 'okapi')).matches).to.deep.equal([])
  })

  it('keeps in memory what is searched of a text, not all of it', async () => {
    const dan = await signUp(grove, 'Dan')
    const text_content = `€ ${'word '.repeat((5 * mib) / 5)}`
    for (const title of ['A', 'B']) await write(dan, { title, text_content })
    const before = await memoryInUse()
    expect((await find(dan, 'word')).matches).to.have.length(2)
    expect((await memoryInUse()) - before).to.be.below(8 * mib)
  })

  it('cuts the texts of an organisation that holds too much, and no longer once it holds less', async () => {
    const eve = await signUp(grove, 'Eve')
    const org = await grove.deps.index.read
      .selectFrom('org')
      .select('epoch')
      .where('id', '=', eve.org)
      .executeTakeFirst()
    const index = createSearchIndex({ limitBytes: 12 * mib })
    const more = { nodes: 0, tombstones: 0, asked: 0, turn: Promise.resolve(), isDropped: false }
    grove.deps.searches.set(eve.org, { index, epoch: org?.epoch ?? '', ...more })
    const nodes: string[] = []
    for (const letter of ['a', 'b', 'c'])
      nodes.push(await write(eve, { title: letter, text_content: `first ${differentWords(64 * kib, letter)} last` }))
    await write(eve, { title: 'd', text_content: 'first and last' })
    const seen = async () => {
      const first = await find(eve, 'first')
      const last = await find(eve, 'last')
      const cut = first.nodes.filter((node: Found) => node.partly_indexed).map(({ title }: Found) => title)
      return { first: first.matches.length, last: last.matches.length, cut: cut.sort() }
    }
    expect(await seen()).to.deep.equal({ first: 4, last: 1, cut: ['a', 'b', 'c'] })
    await eve.patch(nodes[0] ?? '', { text_content: 'first' })
    await eve.delete(nodes[1] ?? '')
    expect(await seen()).to.deep.equal({ first: 3, last: 2, cut: [] })
  })

  it('lets 64 wait for one organisation and tells more of them to come again', async () => {
    const fay = await signUp(grove, 'Fay')
    for (const letter of ['a', 'b', 'c'])
      await write(fay, { title: letter, text_content: differentWords(32 * kib, letter) })
    const ask = () => fay.post(`/orgs/${fay.org}/search/retrieve`, { query: 'zebra' })
    const answers = await stepByStep(() => Promise.all(Array.from({ length: 66 }, ask)))
    const refused = answers.filter(({ status }) => status === 503)
    expect(answers.length - refused.length).to.be.at.least(64)
    expect(refused[0]?.body.code).to.equal('busy')
    expect(refused[0]?.headers['retry-after']).to.match(/^\d+$/)
  })

  /** Bytes of strings and objects, after a collection of garbage; what connections keep of their last request has gone. */
  async function memoryInUse(): Promise<number> {
    setFlagsFromString('--expose-gc')
    for (let n = 0; n < 4; n++) {
      await client(grove).get('/healthz')
      runInNewContext('gc')()
    }
    const { heapUsed, external } = process.memoryUsage()
    return heapUsed + external
  }

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

  /** How many requests, one after the other, are answered before `work` is done, each of whose steps fills a slice. */
  async function servedDuring(work: () => Promise<unknown>): Promise<number> {
    let served = 0
    let isDone = false
    const done = stepByStep(work).finally(() => {
      isDone = true
    })
    const others = client(grove)
    for (;;) {
      await others.get('/healthz')
      if (isDone) break
      served++
    }
    await done
    return served
  }
})

/** By a clock on which each step of a search takes a slice of time: others have their turns between two, however fast the machine is. */
async function stepByStep<T>(work: () => Promise<T>): Promise<T> {
  let now = performance.now()
  const clock = mock.method(performance, 'now', () => (now += 10))
  try {
    return await work()
  } finally {
    clock.mock.restore()
  }
}

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
