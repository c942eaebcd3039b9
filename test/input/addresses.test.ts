/** Paths and queries, at every operation. */

import { expect } from 'chai'
import { encodeSlashes } from '../../server/http/contract/path-parameters.ts'
import { ofAnyNode } from '../support/attempts.ts'
import { ann, grove, node, operations, problems, raw, useScene } from './scene.ts'

describe('input', () => {
  useScene()

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
      [
        'limit=1&limit=2',
        [{ loc: ['query', 'limit'], msg: 'The parameter was sent more than once', type: 'value_error' }],
      ],
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

  describe('paths', () => {
    it('that lead nowhere are 404, in any encoding', async () => {
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
        body: { detail: 'Not found: the API has no such path. See /docs', code: 'not_found' },
      })
    })

    it.deep('take no hostile text in any parameter of any operation', async () => {
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
        invitation_id: 'none',
        webhook_id: node,
        bot_id: node,
        type_name: 'recipe',
        draft_id: node,
        token_id: node,
        delivery_id: node,
        object_id: '0'.repeat(40),
        commit_id: '0'.repeat(40),
        number: '1',
        entry: '1',
        name: 'links',
      }
      for (const { id, method, path, example } of operations) {
        const parameters = [...path.matchAll(/\{(\w+)\}/g)].map(([, name = '']) => name)
        for (const parameter of parameters) {
          for (const [title, text] of Object.entries(hostile)) {
            const url = path.replace(/\{(\w+)\}/g, (_, name) => (name === parameter ? text : (known[name] ?? '')))
            const type = id === 'startImport' ? { 'content-type': 'application/zip' } : {}
            const status = await raw(grove, method, url, ann.session.accessToken, example, type)
            const isAlike = ofAnyNode.has(id) && parameter === 'node_id'
            const expected = isAlike ? [204, 404, 422] : [404, 409, 422]
            expect(status, `${id} with ${title} as ${parameter}`).to.be.oneOf(expected)
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

    const slashes: [string, string, string?][] = [
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
      ['tree/main/raw/x.md', 'tree/main/raw/x.md'],
      ['tree/main/raw/x.md/', 'tree/main/raw/x.md%2F'],
      ['tree/a/b/files/c/d.md/', 'tree/a%2Fb/files/c%2Fd.md%2F'],
      ['tree/main/raw/', 'tree/main%2Fraw'],
      ['tree/main/raw/files/b.md', 'tree/main/raw/files%2Fb.md'],
      ['tree/a/b/blame/c/raw/d.md', 'tree/a%2Fb/blame/c%2Fraw%2Fd.md'],
      ['tree/main/files/raw/b.md', 'tree/main/files/raw%2Fb.md'],
      ['tree/a/b', 'tree/a%2Fb'],
      ['branches/a/b/c', 'branches/a%2Fb%2Fc'],
      ['branches/main/restore', 'branches/main/restore', 'POST'],
      ['branches/a/b/restore/', 'branches/a%2Fb/restore', 'POST'],
      ['branches/a/restore/restore', 'branches/a%2Frestore/restore', 'POST'],
      ['branches/a/restore', 'branches/a%2Frestore', 'GET'],
      ['branches/a/restore', 'branches/a%2Frestore', 'DELETE'],
      ['checks/c/links', 'checks/c/links', 'PUT'],
      ['checks/c/ci/links/', 'checks/c/ci%2Flinks%2F', 'PUT'],
      ['checks/c/ci%2Flinks', 'checks/c/ci%2Flinks', 'PUT'],
      ['checks/c', 'checks/c'],
      ['checks/c/', 'checks/c/'],
      ['pull-requests/1/commits', 'pull-requests/1/commits'],
    ]
    for (const [sent, meant, method = 'GET'] of slashes) {
      it(`${method} …/${sent} means …/${meant}`, () => {
        expect(encodeSlashes(`/orgs/o/nodes/n/${sent}`, method)).to.equal(`/orgs/o/nodes/n/${meant}`)
      })
    }
  })
})
