/** Lists of another Grove that do not end, or are larger than a list may be. */

import { expect } from 'chai'
import { z } from 'zod'
import { AnswerTooLargeError, type Remote } from '../../server/domain/net/remote-grove.ts'
import { pagesOf } from '../../server/features/vault/remote/answers.ts'

const schema = z.object({ total: z.number(), items: z.array(z.object({ name: z.string() })) })

interface Page {
  readonly names: readonly string[]
  readonly bytes?: number
}

/** Reads a list to its end. Returns the items and the pages that were asked for. */
async function read(pageAt: (limit: number, offset: number) => Page, total = Number.MAX_SAFE_INTEGER) {
  const asked: string[] = []
  const never = () => Promise.reject(new Error('asks for something else'))
  const remote: Remote = {
    ...{ url: 'http://hostile.example', send: never, read: never },
    readPage: async (page, path) => {
      asked.push(path)
      const query = new URLSearchParams(path.replace(/.*\?/, ''))
      const { names, bytes = 1 } = pageAt(Number(query.get('limit')), Number(query.get('offset')))
      return { page: page.parse({ total, items: names.map((name) => ({ name })) }), bytes }
    },
  }
  let items = 0
  for await (const _ of pagesOf(remote, '/list', schema, (page) => page.items)) items++
  return { items, asked }
}

async function refusal(...args: Parameters<typeof read>): Promise<string> {
  return read(...args).then(
    () => 'none',
    (error: Error) => `${error.name}: ${error.message}`,
  )
}

describe('the lists of another Grove', () => {
  it('have at most 10,000 pages', async () => {
    expect(await refusal(() => ({ names: ['a'] }))).to.equal(
      'RemoteError: http://hostile.example/list has more than 10000 pages',
    )
  })

  it('have at most 1 GiB of answers, and 256 MiB of names', async () => {
    const many = Array.from({ length: 200 }, () => 'a')
    expect(await refusal(() => ({ names: many, bytes: 4_194_304 }))).to.equal(
      'RemoteError: http://hostile.example/list has more than 1024 MiB',
    )
    const long = 'x'.repeat(1_048_576)
    expect(await refusal(() => ({ names: [long] }))).to.equal(
      'RemoteError: http://hostile.example/list has more than 256 MiB of names',
    )
  })

  it('have no page with more items than were asked for', async () => {
    expect(await refusal((limit) => ({ names: Array.from({ length: limit + 1 }, () => 'a') }))).to.equal(
      'RemoteError: http://hostile.example does not respond like a Grove service: GET /list?limit=200&offset=0',
    )
  })

  it('are read in smaller pages if a page is too large, to the last item', async () => {
    const fat = (limit: number, offset: number) => {
      if (limit > 20) throw new AnswerTooLargeError('too large')
      return { names: Array.from({ length: Math.min(limit, 30 - offset) }, () => 'a') }
    }
    const { items, asked } = await read(fat, 30)
    expect(items).to.equal(30)
    expect(asked.map((path) => path.replace('/list?', ''))).to.deep.equal([
      'limit=200&offset=0',
      'limit=50&offset=0',
      'limit=13&offset=0',
      'limit=13&offset=13',
      'limit=13&offset=26',
    ])
  })
})
