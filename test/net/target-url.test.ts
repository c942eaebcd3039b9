/** Which URLs are fetched, before their names are resolved. */

import { networkInterfaces } from 'node:os'
import { expect } from 'chai'
import fc from 'fast-check'
import { isAllowEntry, newAllowList } from '../../server/base/allow-list.ts'
import { readConfig } from '../../server/base/config.ts'
import * as limits from '../../server/base/limits.ts'
import { ownAddresses } from '../../server/domain/net/own-addresses.ts'
import { judgeUrl, type TargetRules } from '../../server/domain/net/target-url.ts'
import { runs } from '../support/seed.ts'

const nothing: TargetRules = { allow: newAllowList([]), own: { ports: [], urls: [] } }
const withHttp = { ...nothing, isHttpAllowed: true }

const judged = (url: string, rules: TargetRules = nothing) => {
  const { url: accepted, problem } = judgeUrl(url, rules)
  return accepted?.href ?? problem
}

const isAccepted = (url: string, rules: TargetRules = nothing) => judgeUrl(url, rules).problem === undefined

describe('a URL to fetch', () => {
  it('has https, unless http is allowed', () => {
    expect(judged('https://hooks.example/a?b=c')).to.equal('https://hooks.example/a?b=c')
    expect(judged('HTTPS://Hooks.Example')).to.equal('https://hooks.example/')
    expect(judged('http://hooks.example/')).to.equal('The URL does not begin with https:// and a host.')
    const closed = { ...nothing, isHttpAllowed: false }
    expect(judged('http://hooks.example/', closed)).to.equal(
      'The URL does not begin with https:// and a host. Use https, or ask the operator for WEBHOOK_HTTP.',
    )
    expect(judged('ftp://hooks.example/', closed)).to.equal('The URL does not begin with https:// and a host.')
    expect(judged('http://hooks.example/', withHttp)).to.equal('http://hooks.example/')
    expect(judged('https://hooks.example/', withHttp)).to.equal('https://hooks.example/')
    for (const rules of [nothing, withHttp]) {
      for (const url of [
        ...[
          'ftp://hooks.example/',
          'file:///etc/passwd',
          'javascript:alert(1)',
          'data:,x',
          'gopher://hooks.example:1/',
        ],
        ...['//hooks.example/', 'hooks.example', '', 'https:hooks.example', 'https:///hooks.example', 'https://'],
        ...['https:\\\\hooks.example\\', 'https://\\hooks.example', 'ws://hooks.example/', 'httpss://hooks.example/'],
      ]) {
        expect(judged(url, rules), url).to.match(/^The URL does not begin with https:\/\//)
      }
    }
  })

  it('has a port of HTTP, or one of 1024 or more', () => {
    for (const port of ['', ':443', ':80', ':1024', ':8443', ':65535']) {
      expect(isAccepted(`https://hooks.example${port}/`), port).to.equal(true)
    }
    for (const port of [0, 1, 22, 25, 79, 81, 442, 444, 1_023]) {
      expect(judged(`https://hooks.example:${port}/`)).to.equal(
        `The URL has the port ${port}. Use 443, 80, or one of 1024 or more.`,
      )
    }
    for (const port of ['65536', '-1', 'x', '1e3']) {
      expect(judged(`https://hooks.example:${port}/`), port).to.equal('The URL has an invalid host or port.')
    }
  })

  it('has no user, fragment, space or control character', () => {
    for (const user of ['ann', 'ann:pw', ':pw', 'ann:', 'hooks.example%40']) {
      expect(judged(`https://${user}@1.1.1.1/`), user).to.match(/^The URL has a user name or a password/)
    }
    for (const end of ['#', '#a', '?a#b']) expect(judged(`https://hooks.example/${end}`)).to.match(/has a fragment/)
    for (const odd of [' ', '\n', '\r\n', '\t', '\0', '\u0085', '\u00a0']) {
      for (const url of [
        `https://hooks.example/${odd}`,
        `${odd}https://hooks.example/`,
        `https://hooks${odd}.example/`,
      ]) {
        expect(judged(url), JSON.stringify(url)).to.match(/has spaces or control characters/)
      }
    }
  })

  it('has at most 2,048 characters, also after other characters are escaped', () => {
    const start = 'https://hooks.example/'
    expect(isAccepted(start + 'a'.repeat(limits.webhookUrl - start.length))).to.equal(true)
    const long = 'The URL has more than 2,048 characters. Use a shorter one.'
    expect(judged(start + 'a'.repeat(limits.webhookUrl - start.length + 1))).to.equal(long)
    expect(judged(`${start}${'ü'.repeat(limits.webhookUrl / 6)}`)).to.equal(long)
    expect(judged('x'.repeat(10_000_000))).to.equal(long)
  })

  it('has a public IP address if it has one, however it is written', () => {
    for (const [host, shown] of [
      ...['127.0.0.1', '2130706433', '0x7f.1', '0x7f000001', '017700000001', '127.1', '127.0.0.1.'].map((one) => [
        one,
        '127.0.0.1',
      ]),
      ['①②⑦.0.0.1', '127.0.0.1'],
      ['%31%32%37.0.0.1', '127.0.0.1'],
      ['127。0。0。1', '127.0.0.1'],
      ['0', '0.0.0.0'],
      ['169.254.169.254', '169.254.169.254'],
      ['[::1]', '::1'],
      ['[::]', '::'],
      ['[::ffff:127.0.0.1]', '::ffff:7f00:1'],
      ['[::ffff:1.1.1.1]', '::ffff:101:101'],
      ['[64:ff9b::a00:1]', '64:ff9b::a00:1'],
      ['[fd00::1]', 'fd00::1'],
    ] as const) {
      const problem = `${shown} is not a public IP address. Use a public host, or ask the operator to open this one with FETCH_ALLOW.`
      expect(judged(`https://${host}/`), host).to.equal(problem)
    }
    for (const host of ['[fe80::1%25eth0]', '[fe80::1%eth0]', '256.1.1.1', '1.2.3.4.5', 'a.1', 'h%2e1', 'a%00b']) {
      expect(judged(`https://${host}/`), host).to.equal('The URL has an invalid host or port.')
    }
    for (const host of ['1.1.1.1', '[2606:4700:4700::1111]', 'bücher.example', 'hooks.example.']) {
      expect(isAccepted(`https://${host}/`), host).to.equal(true)
    }
  })

  it.deep('is judged without an error, with any text', () => {
    const part = fc.oneof(fc.string({ unit: 'binary' }), fc.constantFrom('@', ':', '[', ']', '%', '/', '#', '\\', '..'))
    fc.assert(
      fc.property(fc.array(part, { maxLength: 6 }), fc.boolean(), (parts, isHttpAllowed) => {
        const { url, problem } = judgeUrl(`https://${parts.join('')}`, { ...nothing, isHttpAllowed })
        if (problem !== undefined) expect(problem).to.match(/^[\S ]+\.$/)
        else expect([url.protocol, url.username, url.password, url.hash]).to.deep.equal(['https:', '', '', ''])
      }),
      { numRuns: runs(2_000) },
    )
  })
})

describe('the allow list', () => {
  const rules = { ...nothing, allow: newAllowList(['10.1.2.0/24', 'fd00::/8', '192.168.7.7', 'Hooks.Internal']) }

  it('opens the IP addresses of its networks, and no others', () => {
    for (const host of ['10.1.2.0', '10.1.2.255', '[fd12::1]', '192.168.7.7', '[::ffff:10.1.2.3]']) {
      expect(isAccepted(`https://${host}/`, rules), host).to.equal(true)
    }
    for (const host of ['10.1.3.0', '10.1.1.255', '[fc00::1]', '192.168.7.8', '[::1]', '[::ffff:10.1.3.0]']) {
      expect(isAccepted(`https://${host}/`, rules), host).to.equal(false)
    }
  })

  it('opens names, but not those below them', () => {
    for (const name of ['hooks.internal', 'HOOKS.internal', 'hooks.internal.']) {
      expect(rules.allow.opensName(name), name).to.equal(true)
    }
    for (const name of ['a.hooks.internal', 'internal', 'hooks.internal.example', 'hooks.internal..', '']) {
      expect(rules.allow.opensName(name), name).to.equal(false)
    }
  })

  it('has only entries that can match', () => {
    for (const entry of [
      '10.0.0.1',
      '::1',
      'fd00::/8',
      'hooks',
      'hooks.internal.',
      'a_b.internal',
      'bücher.internal',
    ]) {
      expect(isAllowEntry(entry), entry).to.equal(true)
    }
    for (const entry of [
      ...['', ' ', '0.0.0.0/0', '::/0', '10.0.0.0/33', '10.0.0.0/08', '10.0.0.0/8/8', 'fd00::/129', 'fe80::1%eth0'],
      ...[
        '*.internal',
        'http://hooks.internal',
        'hooks.internal:80',
        'a b',
        'a/b',
        'a@b',
        '127.1',
        '2130706433',
        'a..b',
      ],
      ...['loopback', 'linklocal', 'uniquelocal', '::ffff:10.0.0.0/104', '[::1]', 'a,b', '#', '.', 'x'.repeat(64)],
    ]) {
      expect(isAllowEntry(entry), JSON.stringify(entry)).to.equal(false)
      expect(() => newAllowList([entry])).to.throw(/^FETCH_ALLOW has an entry/)
    }
  })
})

describe("the service's own address", () => {
  const allow = newAllowList(['127.0.0.0/8', '0.0.0.0/8', '::1', '::', '203.0.113.5', 'grove.example'])
  const machine = Object.values(networkInterfaces()).flatMap((all) => (all ?? []).map(({ address }) => address))
  const rules: TargetRules = {
    allow: newAllowList(['127.0.0.0/8', '0.0.0.0/8', '::1', '::', '203.0.113.5', 'grove.example', ...machine]),
    own: { ports: [3_000], urls: ['https://grove.example/base', 'http://10.0.0.1:8080', 'https://203.0.113.5'] },
    isHttpAllowed: true,
  }
  const own = 'The URL is that of this service, which sends no requests to itself. Use another host.'

  it('is never opened', () => {
    for (const url of [
      ...[
        'https://grove.example/',
        'https://GROVE.example.:443/x',
        'http://grove.example:443/',
        'http://10.0.0.1:8080/',
      ],
      ...['https://203.0.113.5/', 'https://[::ffff:203.0.113.5]/', 'http://127.0.0.1:3000/', 'http://127.9.9.9:3000/'],
      ...[
        'http://0:3000/',
        'http://0.1.2.3:3000/',
        'http://[::1]:3000/',
        'http://[::]:3000/',
        'http://2130706433:3000/',
      ],
      ...['http://[::ffff:127.0.0.1]:3000/'],
      ...machine.map((address) => `http://${address.includes(':') ? `[${address}]` : address}:3000/`),
    ]) {
      expect(judged(url, rules), url).to.equal(own)
    }
  })

  it('is one of host and port, so other services of the same machine can be opened', () => {
    for (const url of ['http://127.0.0.1:3001/', 'https://grove.example:8443/', 'https://other.example/']) {
      expect(isAccepted(url, { ...rules, allow }), url).to.equal(true)
    }
  })

  it('follows from the configuration', () => {
    expect(ownAddresses({}, 3_000)).to.deep.equal({ ports: [3_000], urls: [] })
    const config = readConfig({
      PUBLIC_URL: 'https://grove.example/base',
      DATABASE_URL: 'postgres://localhost/grove',
      CELL: 'a',
      CELL_URL: 'http://10.0.0.1:3000',
    })
    const own = ownAddresses(config, 4_000)
    for (const url of ['https://grove.example/', 'http://10.0.0.1:3000/', 'http://127.0.0.1:4000/']) {
      expect(judged(url, { ...rules, own }), url).to.match(/^The URL is that of this service/)
    }
  })
})
