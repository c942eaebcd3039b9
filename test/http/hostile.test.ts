import { execFileSync } from 'node:child_process'
import { expect } from 'chai'
import { RequestValidator } from 'express-openapi-validator/dist/middlewares/openapi.request.validator.js'
import { useWorld } from '../support/world.ts'

describe('a service that somebody wants to break', () => {
  const { grove, ann } = useWorld({ ann: 'owner' })
  let nodes: string

  before(() => {
    nodes = `/orgs/${ann.org}/nodes`
  })

  it('refuses a node.json nested too deep to be read again, and the node stays as it was', async () => {
    const { id, head } = (await ann.post(nodes, { title: 'Whales' })).body
    const content = `{"title": "Whales", "properties": {"a": ${'['.repeat(20_000)}${']'.repeat(20_000)}}}`
    const commit = { message: 'Deep', changes: [{ action: 'put', path: 'node.json', content }] }
    const { status, body } = await ann.post(`${nodes}/${id}/tree/main/commits`, commit)
    expect([status, body.detail[0].msg]).to.deep.equal([422, 'node.json: The JSON is nested deeper than 100 levels'])
    expect((await ann.get(`${nodes}/${id}`)).body).to.include({ title: 'Whales', head })
  })

  for (const encoding of ['gzip', 'deflate', 'br']) {
    it(`refuses a body that is not ${encoding}, though its headers say so`, async () => {
      const { status, body } = await ann.post(nodes, 'not compressed', { 'content-encoding': encoding })
      expect([status, body.detail?.[0].type]).to.deep.equal([422, 'json_invalid'])
    })
  }

  it('keeps nothing for each content type that a request without a body names', async () => {
    const { buildMiddleware } = RequestValidator.prototype as unknown as Record<string, () => unknown>
    let built = 0
    Object.assign(RequestValidator.prototype, {
      buildMiddleware(...args: []) {
        built++
        return buildMiddleware?.apply(this, args)
      },
    })
    try {
      for (let n = 0; n < 20; n++) {
        const { status } = await ann.get(`${nodes}?limit=1`, { 'content-type': `a${n}/b; c=${n}` })
        expect(status).to.equal(200)
      }
    } finally {
      Object.assign(RequestValidator.prototype, { buildMiddleware })
    }
    expect(built).to.be.lessThan(2)
  })

  it('says that a node is damaged whose ledger was overwritten by hand, and serves all others', async () => {
    const broken = (await ann.post(nodes, { title: 'Broken' })).body.id
    const sound = (await ann.post(nodes, { title: 'Sound' })).body.id
    const repo = `${grove.dataDir}/${ann.org}/${broken}.git`
    execFileSync('git', ['-C', repo, 'update-ref', 'refs/grove/ledger', 'refs/heads/main'])
    for (const path of ['', '/branches', '/pull-requests', '/tree/main/commits']) {
      const { status, body } = await ann.get(`${nodes}/${broken}${path}`)
      expect([status, body.code ?? body.title]).to.be.deep.oneOf([
        [503, 'repo_damaged'],
        [200, undefined],
        [200, 'Broken'],
      ])
    }
    expect((await ann.get(`${nodes}/${sound}`)).status).to.equal(200)
  })
})
