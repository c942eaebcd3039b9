/** Methods, and what is the same in every answer. */

import { expect } from 'chai'
import spec from '../../spec/openapi.json' with { type: 'json' }
import { client } from '../support/people.ts'
import { ann, grove, node, operations, raw, useScene } from './scene.ts'

describe('input', () => {
  useScene()

  describe('lists', () => {
    it('lead to their next page, all else that was asked kept, until the last', async () => {
      for (const title of ['b', 'c']) await ann.post(`/orgs/${ann.org}/nodes`, { title, tags: ['page'] })
      const path = `/orgs/${ann.org}/nodes?tag=page&limit=1`
      const first = await ann.get(path)
      const next = `${path}&${new URLSearchParams({ after: first.body.next })}`
      expect(first.headers.link).to.equal(`<${next}>; rel="next"`)
      for (const one of [next, `${path}&offset=1`]) {
        const second = await ann.get(one)
        expect(second.body).to.include({ total: 2, limit: 1 })
        expect(second.body.nodes).to.have.length(1)
        expect(second.body.nodes[0].id).to.not.equal(first.body.nodes[0].id)
        expect(second.headers).to.not.have.property('link')
      }
    })
  })

  describe('methods', () => {
    it('that a path does not have are 405 with those that it has', async () => {
      const answer = await ann.put('/orgs', {})
      expect(answer).to.deep.equal({
        status: 405,
        body: { detail: 'PUT is not allowed here; the header Allow lists the methods', code: 'method_not_allowed' },
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
        detail: 'Not found: the API has no such path. See /docs',
        code: 'not_found',
        request_id: 'trace-1',
        link: '/docs/errors#not_found',
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
      for (const path of loaded) {
        const { pathname } = new URL(path, `${grove.url}/docs`)
        expect((await client(grove).get(pathname)).status, path).to.equal(200)
      }
      expect(body).to.not.match(/<script>|http/)
      const slashed = await fetch(`${grove.url}/docs/`, { redirect: 'manual' })
      expect([slashed.status, slashed.headers.get('location')]).to.deep.equal([308, '/docs'])
    })
  })
})
