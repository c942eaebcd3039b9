import { expect } from 'chai'
import { decodePercent } from '../../server/base/percent-encoding.ts'
import { matchPath, parseTemplate, segmentsOf } from '../../server/http/path-templates.ts'

const match = (template: string, path: string) => matchPath(parseTemplate(template), segmentsOf(path))

describe('a template of paths', () => {
  it('matches segment by segment, and gives the parameters decoded', () => {
    expect(match('/', '/')).to.deep.equal({})
    expect(match('/orgs/{org}/nodes/{node}', '/orgs/a/nodes/b%2Fc%C3%A9')).to.deep.equal({ org: 'a', node: 'b/cé' })
  })

  it('matches no other literal, no other length and no empty parameter', () => {
    for (const path of ['/orgs', '/orgs/', '/orgs/a/b', '/Orgs/a', '/%6Frgs/a', '//a', 'orgs/a', '*', ''])
      expect(match('/orgs/{org}', path), path).to.equal(undefined)
    expect(match('/', '')).to.equal(undefined)
  })

  it('matches no parameter that is not percent-encoded UTF-8', () => {
    for (const segment of ['%', '%2', '%zz', '%ff', 'a%C3']) {
      expect(decodePercent(segment), segment).to.equal(undefined)
      expect(match('/orgs/{org}', `/orgs/${segment}`), segment).to.equal(undefined)
    }
  })
})
