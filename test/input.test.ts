import { request as httpRequest } from 'node:http'
import { gzipSync } from 'node:zlib'
import { expect } from 'chai'
import { encodeSlashes } from '../server/http/path-parameters.ts'
import spec from '../spec/openapi.json' with { type: 'json' }
import { client, type Grove, type PersonClient, signUp, startGrove } from './support/grove.ts'

interface Asked {
  readonly id: string
  readonly method: string
  readonly path: string
  readonly example: unknown
}

/** Every operation with an example of its body, as the spec has it. */
const operations: Asked[] = Object.entries(spec.paths).flatMap(([path, item]) =>
  Object.entries(item)
    .filter(([method]) => method !== 'parameters')
    .map(([method, operation]) => ({
      id: operation.operationId,
      method: method.toUpperCase(),
      path,
      example: exampleOf(operation),
    })),
)

describe('input', () => {
  let grove: Grove
  let ann: PersonClient
  let node: string

  before(async () => {
    grove = await startGrove()
    ann = await signUp(grove, 'Ann')
    node = (await ann.post(`/orgs/${ann.org}/nodes`, { title: 'Whales', text_content: 'Large.' })).body.id
  })
  after(() => grove.close())

  const problems = async (answer: Promise<{ status: number; body: { detail: unknown } }>) => {
    const { status, body } = await answer
    expect(status, JSON.stringify(body)).to.equal(422)
    return body.detail
  }
  const retrieve = (body: unknown) => ann.post(`/orgs/${ann.org}/search/retrieve`, body)

  describe('bodies', () => {
    it('that are no JSON are json_invalid', async () => {
      for (const body of ['{', '{"a":1}}', '\u0000', "{'a': 1}", 'NaN']) {
        expect(await problems(ann.post('/orgs', body))).to.deep.equal([
          { loc: ['body'], msg: 'JSON decode error', type: 'json_invalid' },
        ])
      }
    })

    it('that are missing are missing, where one is required', async () => {
      const missing = [{ loc: ['body'], msg: 'Field required', type: 'missing' }]
      expect(await problems(ann.post('/orgs'))).to.deep.equal(missing)
      expect(await problems(ann.post('/orgs', ''))).to.deep.equal(missing)
    })

    it('that are no objects are told so', async () => {
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
      const detail = [{ loc: ['body'], msg: 'JSON nested deeper than 100 levels', type: 'json_invalid' }]
      expect(await problems(ann.post('/orgs', deep))).to.deep.equal(detail)
      const properties = `{"title":"x","properties":${'{"a":'.repeat(5000)}1${'}'.repeat(5000)}}`
      expect(await problems(ann.post(`/orgs/${ann.org}/nodes`, properties))).to.deep.equal(detail)
    })

    it('over 16 MiB are 413, and so is what unpacks to that', async () => {
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
      const started = performance.now()
      for (let round = 0; round < 200; round++) {
        const headers = { 'content-type': `Application/JSON; Charset="UTF-8"; x=${round}` }
        expect((await ann.post('/auth/logout', { refreshToken: `none ${round}` }, headers)).status).to.equal(204)
      }
      expect(performance.now() - started).to.be.below(20_000)
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
        { query: 'x', include_raw_text: 'yes' },
        { loc: ['body', 'include_raw_text'], msg: 'Input should be a valid boolean', type: 'bool_type', input: 'yes' },
      ],
      [
        'unknown',
        { query: 'x', topk: 5 },
        { loc: ['body', 'topk'], msg: 'Extra inputs are not permitted', type: 'extra_forbidden', input: 5 },
      ],
      [
        'unknown, with a slash',
        { query: 'x', 'a/b~c': 5 },
        { loc: ['body', 'a/b~c'], msg: 'Extra inputs are not permitted', type: 'extra_forbidden', input: 5 },
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

    it('that are null and optional are absent, further in too', async () => {
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

    it('keep NUL, line breaks and SQL as they are, where text is free', async () => {
      for (const name of [
        'a\u0000b',
        'a\r\nX-Evil: 1',
        "'; drop table org; --",
        '<script>alert(1)</script>',
        '%00',
        '\u202e',
      ]) {
        const { status, body } = await ann.post('/orgs', { name })
        expect({ status, name: body.name }).to.deep.equal({ status: 201, name })
      }
    })

    it('that make regular expressions slow elsewhere do not here', async () => {
      const started = performance.now()
      for (const text of [`${'a@'.repeat(120)}`, `${'a.'.repeat(120)}@`, `a@${'a-'.repeat(120)}!`]) {
        await problems(client(grove).post('/auth/signup', { email: text, password: 'long enough' }))
      }
      expect((await retrieve({ query: `${'('.repeat(8000)}${'a*'.repeat(4000)}` })).status).to.equal(200)
      expect(performance.now() - started).to.be.below(5000)
    })
  })

  describe('queries', () => {
    const integer = (name: string, input: string) => [
      {
        loc: ['query', name],
        msg: 'Input should be a valid integer, unable to parse string as an integer',
        type: 'int_parsing',
        input,
      },
    ]
    const rows: [string, object[]][] = [
      ['limit=x', integer('limit', 'x')],
      ['limit=', integer('limit', '')],
      ['limit=1.5', integer('limit', '1.5')],
      ['limit=1e2', integer('limit', '1e2')],
      ['limit=0x10', integer('limit', '0x10')],
      [
        'limit=0',
        [
          {
            loc: ['query', 'limit'],
            msg: 'Input should be greater than or equal to 1',
            type: 'greater_than_equal',
            ctx: { ge: 1 },
            input: 0,
          },
        ],
      ],
      [
        'limit=201',
        [
          {
            loc: ['query', 'limit'],
            msg: 'Input should be less than or equal to 200',
            type: 'less_than_equal',
            ctx: { le: 200 },
            input: 201,
          },
        ],
      ],
      [
        'offset=-1',
        [
          {
            loc: ['query', 'offset'],
            msg: 'Input should be greater than or equal to 0',
            type: 'greater_than_equal',
            ctx: { ge: 0 },
            input: -1,
          },
        ],
      ],
      [
        'page=2',
        [{ loc: ['query', 'page'], msg: 'Extra inputs are not permitted', type: 'extra_forbidden', input: '2' }],
      ],
      ['limit=1&limit=2', [{ loc: ['query', 'limit'], msg: 'Value error, given more than once', type: 'value_error' }]],
      [
        'limit[]=1',
        [{ loc: ['query', 'limit[]'], msg: 'Extra inputs are not permitted', type: 'extra_forbidden', input: '1' }],
      ],
      [
        '__proto__=1',
        [{ loc: ['query', '__proto__'], msg: 'Extra inputs are not permitted', type: 'extra_forbidden', input: '1' }],
      ],
    ]
    for (const [query, detail] of rows) {
      it(`?${query} is 422`, async () => {
        expect(await problems(ann.get(`/orgs?${query}`))).to.deep.equal(detail)
      })
    }

    it('of the largest offset are an empty page', async () => {
      const { status, body } = await ann.get('/orgs?offset=9007199254740991&limit=200')
      expect(status).to.equal(200)
      expect(body).to.include({ limit: 200, offset: 9007199254740991 })
      expect(body.orgs).to.deep.equal([])
      expect(body.total).to.be.above(0)
    })

    it('with reserved characters are read as they are', async () => {
      const { status } = await ann.get(`/orgs/${ann.org}/nodes?tag=a/b:c@d,e;f`)
      expect(status).to.equal(200)
    })
  })

  describe('lists', () => {
    it('lead to their next page, all else that was asked kept, until the last', async () => {
      for (const title of ['b', 'c']) await ann.post(`/orgs/${ann.org}/nodes`, { title, tags: ['page'] })
      const path = `/orgs/${ann.org}/nodes?tag=page&limit=1`
      const first = await ann.get(path)
      expect(first.headers.link).to.equal(`</orgs/${ann.org}/nodes?tag=page&limit=1&offset=1>; rel="next"`)
      const second = await ann.get(`/orgs/${ann.org}/nodes?tag=page&limit=1&offset=1`)
      expect(second.body).to.include({ total: 2, limit: 1, offset: 1 })
      expect(second.headers).to.not.have.property('link')
    })
  })

  describe('paths', () => {
    it('that lead nowhere are 404, whatever their encoding', async () => {
      for (const path of [
        '/nope',
        '/orgs//nodes',
        '/orgs/%zz',
        '/orgs/%ff',
        '/orgs/%',
        '/ORGS',
        '/constructor',
        '/orgs/x/y/z',
        '/%2e%2e/%2e%2e/etc/passwd',
        '/docs/package.json',
      ]) {
        expect(await ann.get(path), path).to.deep.include({ status: 404 })
      }
      expect(await ann.get('/nope')).to.deep.equal({
        status: 404,
        body: { detail: 'There is nothing here', code: 'not_found' },
      })
    })

    it('take no hostile text in any parameter of any operation', async function () {
      this.timeout(180_000)
      const hostile = {
        'another folder': '..%2F..%2Fcredentials.sqlite',
        'the folder above': '..',
        NUL: 'a%00b',
        'line breaks': 'a%0d%0aSet-Cookie:%20x=1',
        SQL: "'%20or%201=1%20--",
        'a prototype': '__proto__',
        'ten thousand characters': 'x'.repeat(10_000),
        'half a character': '%ed%a0%80',
      }
      const known: Record<string, string> = {
        org_id: ann.org,
        node_id: node,
        branch: 'main',
        path: 'node.json',
        email: 'ann%40example.org',
        parent_id: node,
        connection_id: 'none',
        object_id: '0'.repeat(40),
        commit_id: '0'.repeat(40),
        number: '1',
      }
      for (const { id, method, path, example } of operations) {
        const parameters = [...path.matchAll(/\{(\w+)\}/g)].map(([, name = '']) => name)
        for (const parameter of parameters) {
          for (const [title, text] of Object.entries(hostile)) {
            const url = path.replace(/\{(\w+)\}/g, (_, name) => (name === parameter ? text : (known[name] ?? '')))
            const status = await raw(grove, method, url, ann.session.accessToken, example)
            expect(status, `${id} with ${title} as ${parameter}`).to.be.oneOf([404, 409, 422])
          }
        }
      }
      expect((await ann.get(`/orgs/${ann.org}/nodes/${node}`)).status).to.equal(200)
    })

    it('may have raw slashes in branches', async () => {
      const at = `/orgs/${ann.org}/nodes/${node}`
      await ann.post(`${at}/branches`, { name: 'feature/a', from: 'main' })
      for (const branch of ['feature/a', 'feature%2Fa', 'feature%2fa']) {
        expect((await ann.get(`${at}/tree/${branch}/commits`)).body, branch).to.include({ node_id: node, total: 1 })
        expect((await ann.get(`${at}/branches/${branch}`)).body, branch).to.include({ name: 'feature/a' })
        expect((await ann.get(`${at}/tree/${branch}/files/node.json`)).status, branch).to.equal(200)
        expect((await ann.get(`${at}/tree/${branch}`)).status, branch).to.equal(200)
      }
    })

    const slashes: [string, string][] = [
      ['tree/main/commits', 'tree/main/commits'],
      ['tree/a/b/commits', 'tree/a%2Fb/commits'],
      ['tree/a/b/commits/', 'tree/a%2Fb/commits'],
      ['tree/a/b/commits/abc1234', 'tree/a%2Fb/commits/abc1234'],
      ['tree/commits/commits', 'tree/commits/commits'],
      ['tree/a/commits/commits', 'tree/a%2Fcommits/commits'],
      ['tree/a/commits/b/commits/c', 'tree/a%2Fcommits%2Fb/commits/c'],
      ['tree/a%2Fb/commits', 'tree/a%2Fb/commits'],
      ['tree/main/files/x.md', 'tree/main/files/x.md'],
      ['tree/main/files/commits', 'tree/main/files/commits'],
      ['tree/main/files/a/b.md', 'tree/main/files/a%2Fb.md'],
      ['tree/a/b/files/c/d.md', 'tree/a%2Fb/files/c%2Fd.md'],
      ['tree/a/b', 'tree/a%2Fb'],
      ['branches/a/b/c', 'branches/a%2Fb%2Fc'],
      ['pull-requests/1/commits', 'pull-requests/1/commits'],
    ]
    for (const [sent, meant] of slashes) {
      it(`…/${sent} means …/${meant}`, () => {
        expect(encodeSlashes(`/orgs/o/nodes/n/${sent}`)).to.equal(`/orgs/o/nodes/n/${meant}`)
      })
    }
  })

  describe('methods', () => {
    it('that a path does not have are 405 with those that it has', async () => {
      const answer = await ann.put('/orgs', {})
      expect(answer).to.deep.equal({
        status: 405,
        body: { detail: 'PUT is not possible here', code: 'method_not_allowed' },
      })
      expect(answer.headers.allow).to.equal('POST, GET, HEAD, OPTIONS')
    })

    it('OPTIONS is 204 with Allow at every path, and lets browsers ask from anywhere', async () => {
      for (const path of new Set(operations.map((operation) => operation.path))) {
        const response = await fetch(grove.url + path.replace(/[{}]/g, ''), {
          method: 'OPTIONS',
          headers: {
            origin: 'https://elsewhere.example',
            'access-control-request-method': 'PATCH',
            'access-control-request-headers': 'authorization, content-type',
          },
        })
        expect(response.status, path).to.equal(204)
        expect(response.headers.get('allow'), path).to.match(/OPTIONS$/)
        expect(response.headers.get('access-control-allow-origin')).to.equal('*')
        expect(response.headers.get('access-control-allow-methods')).to.contain('PATCH')
        expect(response.headers.get('access-control-allow-headers')).to.equal('authorization, content-type')
      }
    })

    it('HEAD answers as GET does, without the body', async () => {
      for (const path of ['/healthz', '/auth/me', `/orgs/${ann.org}/nodes/${node}`, '/orgs?limit=0', '/docs']) {
        const headers = { authorization: `Bearer ${ann.session.accessToken}` }
        const get = await fetch(grove.url + path, { headers })
        const head = await fetch(grove.url + path, { method: 'HEAD', headers })
        const length = (await get.arrayBuffer()).byteLength
        expect({ path, status: head.status, length: head.headers.get('content-length') }).to.deep.equal({
          path,
          status: get.status,
          length: String(length),
        })
        expect(await head.text()).to.equal('')
      }
    })
  })

  describe('answers', () => {
    it('carry the id under which they stand in the log, the client’s own if it is harmless', async () => {
      const named = await fetch(`${grove.url}/nope`, { headers: { 'x-request-id': 'trace-1' } })
      expect(named.headers.get('x-request-id')).to.equal('trace-1')
      expect(await named.json()).to.deep.equal({
        detail: 'There is nothing here',
        code: 'not_found',
        request_id: 'trace-1',
      })
      const hostile = await fetch(`${grove.url}/healthz`, { headers: { 'x-request-id': 'a b"c' } })
      expect(hostile.headers.get('x-request-id')).to.match(/^[0-9a-f-]{36}$/)
    })

    it('need not be sent again while they have not changed', async () => {
      const { headers } = await ann.get('/auth/me')
      expect(headers['cache-control']).to.equal('private, no-cache')
      const known = { 'if-none-match': headers.etag ?? '' }
      expect(await raw(grove, 'GET', '/auth/me', ann.session.accessToken, undefined, known)).to.equal(304)
    })

    it('are the spec itself at /openapi.json, and a page without inline script at /docs', async () => {
      expect((await client(grove).get('/openapi.json')).body).to.deep.equal(spec)
      const { body, headers } = await client(grove).get('/docs')
      expect(headers['content-security-policy']).to.contain("script-src 'self';")
      const loaded = [...String(body).matchAll(/(?:src|href)="([^"]+)"/g)].map(([, path = '']) => path)
      expect(loaded).to.have.length(4)
      for (const path of loaded) expect((await client(grove).get(path)).status, path).to.equal(200)
      expect(body).to.not.match(/<script>|http/)
    })
  })
})

function exampleOf(operation: object): unknown {
  if (!('requestBody' in operation)) return undefined
  const { content } = operation.requestBody as {
    content: { 'application/json': { example?: unknown; examples?: Record<string, { value: unknown }> } }
  } // the spec gives each body an example
  const { example, examples } = content['application/json']
  return example ?? Object.values(examples ?? {})[0]?.value
}

/** The path and headers as they stand: fetch would resolve `..` and ask for what is fresh. Answers the status. */
function raw(
  grove: Grove,
  method: string,
  path: string,
  token: string,
  body?: unknown,
  given: Record<string, string> = {},
): Promise<number> {
  const { hostname, port } = new URL(grove.url)
  return new Promise((resolve, reject) => {
    const type = body === undefined ? {} : { 'content-type': 'application/json' }
    const headers = { authorization: `Bearer ${token}`, ...type, ...given }
    const sent = httpRequest({ hostname, port, method, path, headers }, (response) => {
      response.resume().on('end', () => resolve(response.statusCode ?? 0))
    })
    sent.on('error', reject).end(body === undefined ? undefined : JSON.stringify(body))
  })
}
