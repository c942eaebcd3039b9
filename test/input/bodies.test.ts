/** Bodies and their fields, at every operation. */

import { gzipSync } from 'node:zlib'
import { expect } from 'chai'
import { client } from '../support/people.ts'
import { ann, grove, node, problems, useScene } from './scene.ts'

describe('input', () => {
  useScene()

  const retrieve = (body: unknown) => ann.post(`/orgs/${ann.org}/search/retrieve`, body)

  describe('bodies', () => {
    it('are 422 as missing if a required one is absent', async () => {
      const missing = [{ loc: ['body'], msg: 'Field required', type: 'missing' }]
      expect(await problems(ann.post('/orgs'))).to.deep.equal(missing)
      expect(await problems(ann.post('/orgs', ''))).to.deep.equal(missing)
    })

    it('that are not objects are refused as such', async () => {
      for (const body of [[], 'text', 5, true, null]) {
        const type = await problems(ann.post('/orgs', JSON.stringify(body)))
        expect(type, JSON.stringify(body)).to.deep.include.members([
          {
            loc: ['body'],
            msg: 'Input should be an object',
            type: 'dict_type',
            ...(Array.isArray(body) ? {} : { input: body }),
          },
        ])
      }
    })

    it('nested a hundred thousand deep are refused', async () => {
      const deep = `${'['.repeat(100_000)}${']'.repeat(100_000)}`
      const detail = [{ loc: ['body'], msg: 'The JSON is nested deeper than 100 levels', type: 'json_invalid' }]
      expect(await problems(ann.post('/orgs', deep))).to.deep.equal(detail)
      const properties = `{"title":"x","properties":${'{"a":'.repeat(5000)}1${'}'.repeat(5000)}}`
      expect(await problems(ann.post(`/orgs/${ann.org}/nodes`, properties))).to.deep.equal(detail)
    })

    it('of more than 200,000 objects and arrays are refused, in strings they do not count', async () => {
      const list = (count: number) =>
        `{"name":"x","odd":[${Array(count - 2)
          .fill('{}')
          .join(',')}],"text":"[{[{"}`
      const msg = 'The JSON has more than 200000 objects and arrays; send it in several requests'
      expect(await problems(ann.post('/orgs', list(200_001)))).to.deep.equal([
        { loc: ['body'], msg, type: 'json_invalid' },
      ])
      const { status, body } = await ann.post('/orgs', list(200_000))
      expect([status, body.detail.map(({ type }: { type: string }) => type)]).to.deep.equal([
        422,
        ['extra_forbidden', 'extra_forbidden'],
      ])
    })

    it.deep('over 16 MiB are 413, and so is what unpacks to that', async () => {
      const body = { detail: 'The body is over 16 MiB', code: 'too_large' }
      const large = JSON.stringify({ name: 'x'.repeat(16 * 1024 * 1024) })
      expect(await ann.post('/orgs', large)).to.deep.equal({ status: 413, body })
      const packed = await fetch(`${grove.url}/orgs`, {
        method: 'POST',
        headers: {
          authorization: `Bearer ${ann.session.accessToken}`,
          'content-type': 'application/json',
          'content-encoding': 'gzip',
        },
        body: gzipSync(large),
      })
      expect(packed.status).to.equal(413)
    })

    it('of another type or charset are 415', async () => {
      const body = { detail: 'Send application/json in UTF-8', code: 'unsupported_media_type' }
      for (const type of [
        'text/plain',
        'application/x-www-form-urlencoded',
        'multipart/form-data; boundary=x',
        'application/json; charset=latin1',
        'application/xml',
        'x',
      ]) {
        expect(await ann.post('/orgs', '{"name":"x"}', { 'content-type': type }), type).to.deep.equal({
          status: 415,
          body,
        })
      }
    })

    it('are read whatever else the Content-Type says, a different thing each time', async () => {
      const { Function: native } = globalThis
      let compiled = 0
      const counting = new Proxy(native, {
        construct: (...args) => {
          compiled++
          return Reflect.construct(...args)
        },
      })
      try {
        for (let round = 0; round < 20; round++) {
          const headers = { 'content-type': `Application/JSON; Charset="UTF-8"; x=${round}` }
          expect((await ann.post('/auth/logout', { refreshToken: `none ${round}` }, headers)).status).to.equal(204)
          // Schemas are compiled for the first, and kept.
          globalThis.Function = counting
        }
      } finally {
        globalThis.Function = native
      }
      expect(compiled).to.equal(0)
    })

    it('of operations that have none are not looked at', async () => {
      expect((await ann.delete(`/orgs/${ann.org}/nodes/none`)).status).to.equal(404)
    })

    it('with the key __proto__ pollute nothing', async () => {
      expect(await problems(ann.post('/orgs', '{"name":"x","__proto__":{"published":true}}'))).to.deep.equal([
        { loc: ['body', '__proto__'], msg: 'Extra inputs are not permitted', type: 'extra_forbidden' },
      ])
      const properties =
        '{"title":"x","properties":{"__proto__":{"polluted":1},"constructor":{"prototype":{"polluted":1}}}}'
      expect((await ann.post(`/orgs/${ann.org}/nodes`, properties)).status).to.equal(201)
      expect({}).to.not.have.property('polluted')
    })
  })

  describe('fields', () => {
    const rows: [string, unknown, object][] = [
      ['missing', {}, { loc: ['body', 'query'], msg: 'Field required', type: 'missing' }],
      [
        'null, although required',
        { query: null },
        { loc: ['body', 'query'], msg: 'Input should be a valid string', type: 'string_type', input: null },
      ],
      [
        'of another type',
        { query: 5 },
        { loc: ['body', 'query'], msg: 'Input should be a valid string', type: 'string_type', input: 5 },
      ],
      [
        'that should be whole',
        { query: 'x', top_k: 1.5 },
        { loc: ['body', 'top_k'], msg: 'Input should be a valid integer', type: 'int_type', input: 1.5 },
      ],
      [
        'that are text instead of numbers',
        { query: 'x', top_k: '5' },
        { loc: ['body', 'top_k'], msg: 'Input should be a valid integer', type: 'int_type', input: '5' },
      ],
      [
        'too large',
        { query: 'x', top_k: 51 },
        {
          loc: ['body', 'top_k'],
          msg: 'Input should be less than or equal to 50',
          type: 'less_than_equal',
          ctx: { le: 50 },
          input: 51,
        },
      ],
      [
        'too small',
        { query: 'x', top_k: 0 },
        {
          loc: ['body', 'top_k'],
          msg: 'Input should be greater than or equal to 1',
          type: 'greater_than_equal',
          ctx: { ge: 1 },
          input: 0,
        },
      ],
      [
        'out of a set',
        { query: 'x', expansion_depth: 'all' },
        {
          loc: ['body', 'expansion_depth'],
          msg: 'Input should be none, shallow, standard or deep',
          type: 'enum',
          ctx: { expected: 'none, shallow, standard, deep' },
          input: 'all',
        },
      ],
      [
        'that are no booleans',
        { query: 'x', explain: 'yes' },
        { loc: ['body', 'explain'], msg: 'Input should be a valid boolean', type: 'bool_type', input: 'yes' },
      ],
      [
        'out of a set that has booleans',
        { query: 'x', include_raw_text: 'yes' },
        {
          loc: ['body', 'include_raw_text'],
          msg: 'Input should be true, false or passages',
          type: 'enum',
          ctx: { expected: 'true, false, passages' },
          input: 'yes',
        },
      ],
      [
        'unknown, with a slash',
        { query: 'x', scope: { 'a/b~c': 5 } },
        { loc: ['body', 'scope', 'a/b~c'], msg: 'Extra inputs are not permitted', type: 'extra_forbidden', input: 5 },
      ],
      [
        'unknown, further in',
        { query: 'x', scope: { node: 'x' } },
        { loc: ['body', 'scope', 'node'], msg: 'Extra inputs are not permitted', type: 'extra_forbidden', input: 'x' },
      ],
      [
        'of another type, in a list',
        { query: 'x', scope: { tags: ['a', 5] } },
        { loc: ['body', 'scope', 'tags', 1], msg: 'Input should be a valid string', type: 'string_type', input: 5 },
      ],
      [
        'that are no lists',
        { query: 'x', scope: { tags: 'a' } },
        { loc: ['body', 'scope', 'tags'], msg: 'Input should be a valid list', type: 'list_type', input: 'a' },
      ],
      [
        'that are no times',
        { query: 'x', scope: { updated_after: 'monday' } },
        {
          loc: ['body', 'scope', 'updated_after'],
          msg: 'Input should be a valid datetime',
          type: 'datetime_parsing',
          input: 'monday',
        },
      ],
    ]
    for (const [title, body, problem] of rows) {
      it(`${title} are named`, async () => {
        expect(await problems(retrieve(body))).to.deep.equal([problem])
      })
    }

    it('that are wrong are named all at once', async () => {
      const detail = await problems(retrieve({ top_k: 0, expansion_depth: 5 }))
      expect((detail as { loc: unknown[] }[]).map(({ loc }) => loc.at(-1)).sort()).to.include.members([
        'expansion_depth',
        'query',
        'top_k',
      ])
    })

    it('that are null and optional are absent, also in nested objects', async () => {
      const scope = { node_ids: null, under: null, tags: null, updated_after: null, connection_types: null }
      const asked = { query: 'whales', top_k: null, expansion_depth: null, scope, include_raw_text: null }
      expect((await retrieve(asked)).status).to.equal(200)
      expect((await retrieve({ ...asked, scope: null })).status).to.equal(200)
    })

    it('that are null where null says something keep it', async () => {
      const answer = await ann.patch(`/orgs/${ann.org}/nodes/${node}`, { title: 'Other', expected_head: null })
      expect(answer.status).to.equal(409)
      expect(answer.body.code).to.equal('head_moved')
    })

    it('of ten thousand characters are too long, and not sent back', async () => {
      expect(await problems(ann.post('/orgs', { name: 'x'.repeat(10_000) }))).to.deep.equal([
        {
          loc: ['body', 'name'],
          msg: 'String should have at most 200 characters',
          type: 'string_too_long',
          ctx: { max_length: 200 },
        },
      ])
    })

    it('keep SQL, markup and marks of direction as they are, where text is free', async () => {
      for (const name of ["'; drop table org; --", '<script>alert(1)</script>', '%00', '\u202e']) {
        const { status, body } = await ann.post('/orgs', { name })
        expect({ status, name: body.name }).to.deep.equal({ status: 201, name })
      }
    })

    it('that make regular expressions slow elsewhere do not here', async () => {
      for (const text of [`${'a@'.repeat(120)}`, `${'a.'.repeat(120)}@`, `a@${'a-'.repeat(120)}!`]) {
        await problems(client(grove).post('/auth/signup', { email: text, password: 'long enough' }))
      }
      expect((await retrieve({ query: `${'('.repeat(8000)}${'a*'.repeat(4000)}` })).status).to.equal(200)
    })
  })
})
