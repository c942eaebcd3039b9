/** Which IP addresses are public, against a table of IANA's registries and a second judge in arithmetic. */

import { isIPv6 } from 'node:net'
import { expect } from 'chai'
import fc from 'fast-check'
import { canonicalAddress, isPublic } from '../../server/base/public-addresses.ts'

/** First and last address of each entry of both registries, of multicast, and of what is reserved. */
const special = [
  ['0.0.0.0', '0.255.255.255'],
  ['10.0.0.0', '10.255.255.255'],
  ['100.64.0.0', '100.127.255.255'],
  ['127.0.0.0', '127.255.255.255'],
  ['169.254.0.0', '169.254.255.255'],
  ['172.16.0.0', '172.31.255.255'],
  ['192.0.0.0', '192.0.0.255'],
  ['192.0.2.0', '192.0.2.255'],
  ['192.31.196.0', '192.31.196.255'],
  ['192.52.193.0', '192.52.193.255'],
  ['192.88.99.0', '192.88.99.255'],
  ['192.168.0.0', '192.168.255.255'],
  ['192.175.48.0', '192.175.48.255'],
  ['198.18.0.0', '198.19.255.255'],
  ['198.51.100.0', '198.51.100.255'],
  ['203.0.113.0', '203.0.113.255'],
  ['224.0.0.0', '255.255.255.255'],
  ['::', '1fff:ffff:ffff:ffff:ffff:ffff:ffff:ffff'],
  ['2001::', '2001:1ff:ffff:ffff:ffff:ffff:ffff:ffff'],
  ['2001:db8::', '2001:db8:ffff:ffff:ffff:ffff:ffff:ffff'],
  ['2002::', '2002:ffff:ffff:ffff:ffff:ffff:ffff:ffff'],
  ['2620:4f:8000::', '2620:4f:8000:ffff:ffff:ffff:ffff:ffff'],
  ['3ffe::', '3ffe:ffff:ffff:ffff:ffff:ffff:ffff:ffff'],
  ['3fff::', '3fff:fff:ffff:ffff:ffff:ffff:ffff:ffff'],
  ['4000::', 'ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff'],
] as const

const bad = [
  ...['0.0.0.0', '0.1.2.3', '10.0.0.1', '10.255.255.255', '100.64.0.1', '100.100.100.200', '127.0.0.1', '127.1.2.3'],
  ...['169.254.0.1', '169.254.169.254', '172.16.0.1', '172.31.255.254', '192.0.0.8', '192.0.0.170', '192.0.2.1'],
  ...['192.31.196.1', '192.52.193.1', '192.88.99.1', '192.168.1.1', '192.175.48.1', '198.18.0.1', '198.19.255.254'],
  ...['198.51.100.7', '203.0.113.9', '224.0.0.1', '239.255.255.250', '240.0.0.1', '255.255.255.255'],
  ...['::', '::1', '::2', '::127.0.0.1', '::ffff:127.0.0.1', '::ffff:7f00:1', '::ffff:8.8.8.8', '::ffff:0:10.0.0.1'],
  ...['64:ff9b::10.0.0.1', '64:ff9b::8.8.8.8', '64:ff9b:1::1', '100::1', '2001::1', '2001:0:7f00:1::', '2001:10::1'],
  ...['2001:20::1', '2001:db8::1', '2002:7f00:1::', '2002:808:808::1', '2620:4f:8000::1', '3ffe::1', '3fff:123::1'],
  ...['5f00::1', 'fc00::1', 'fd00:ec2::254', 'fe80::1', 'fe80::1%eth0', 'febf::1', 'fec0::1', 'ff02::1', 'ff0e::1'],
  ...[
    '2606:4700::1%eth0',
    '',
    'localhost',
    '127.1',
    '0x7f.1',
    '2130706433',
    '1.1.1.1 ',
    '1.1.1.1/32',
    '[2606:4700::1]',
  ],
]

const good = [
  ...[
    '1.1.1.1',
    '8.8.8.8',
    '9.255.255.255',
    '11.0.0.0',
    '100.63.255.255',
    '100.128.0.0',
    '126.255.255.255',
    '128.0.0.1',
  ],
  ...['169.253.255.255', '169.255.0.0', '172.15.255.255', '172.32.0.0', '192.0.1.0', '192.0.3.0', '192.167.255.255'],
  ...['192.169.0.0', '198.17.255.255', '198.20.0.0', '203.0.112.255', '203.0.114.0', '223.255.255.255'],
  ...[
    '2000::1',
    '2001:200::1',
    '2001:4860:4860::8888',
    '2003::1',
    '2606:4700:4700::1111',
    '2a00:1450::1',
    '3fff:1000::1',
  ],
]

describe('a public IP address', () => {
  it('is in no registry of special addresses', () => {
    expect(bad.length).to.be.above(35)
    expect(bad.filter(isPublic)).to.deep.equal([])
    expect(good.filter((address) => !isPublic(address))).to.deep.equal([])
  })

  it('begins and ends where the registries say', () => {
    for (const [first, last] of special) expect([first, last].map(isPublic), first).to.deep.equal([false, false])
    for (const at of special.flatMap(([first, last]) => [numberOf(first) - 1n, numberOf(last) + 1n])) {
      const [address] = [ipv4Of(at), ipv6Of(at)].filter((one) => one !== undefined)
      if (address !== undefined) expect(isPublic(address), address).to.equal(isPublicByNumber(address))
    }
  })

  it('is what arithmetic says', () => {
    const near = fc
      .tuple(fc.constantFrom(...special.flat()), fc.bigInt(-3n, 3n))
      .map(([edge, by]) => (isIPv6(edge) ? ipv6Of(numberOf(edge) + by) : ipv4Of(numberOf(edge) + by)) ?? edge)
    const ipv6 = fc.bigInt(0n, 2n ** 128n - 1n).map((at) => ipv6Of(at) ?? '::')
    const global = fc.bigInt(2n ** 125n, 2n ** 126n - 1n).map((at) => ipv6Of(at) ?? '::')
    fc.assert(
      fc.property(fc.oneof(near, fc.ipV4(), ipv6, global), (address) => {
        expect(isPublic(address), address).to.equal(isPublicByNumber(address))
      }),
      { numRuns: 5_000 },
    )
  })

  it('carries no IPv4 address, in any form and spelling', () => {
    const forms = [
      (hex: string) => `::ffff:${hex}`,
      (hex: string) => `0:0:0:0:0:FFFF:${hex.toUpperCase()}`,
      (hex: string) => `::${hex}`,
      (hex: string) => `::ffff:0:${hex}`,
      (hex: string) => `64:ff9b::${hex}`,
      (hex: string) => `64:ff9b:1::${hex}`,
      (hex: string) => `2002:${hex}::`,
      (hex: string) => `2002:${hex}:1:2:3:4:5`,
      (hex: string) => `2001:0:${hex}::`,
      (hex: string) => `fe80::5efe:${hex}`,
    ]
    fc.assert(
      fc.property(fc.ipV4(), fc.constantFrom(...forms), (address, form) => {
        const at = numberOf(address)
        expect(isPublic(form(`${(at >> 16n).toString(16)}:${(at & 0xffffn).toString(16)}`))).to.equal(false)
        expect(isPublic(`::ffff:${address}`)).to.equal(false)
      }),
      { numRuns: 1_000 },
    )
  })
})

describe('the spelling of an IP address', () => {
  it('is one for all that mean the same', () => {
    const same = [
      ['127.0.0.1', '::ffff:127.0.0.1', '::FFFF:7f00:1', '0:0:0:0:0:ffff:7f00:0001'],
      ['::1', '0:0:0:0:0:0:0:1', '::0001'],
      ['2606:4700::a', '2606:4700:0:0::000A', '2606:4700:0:0:0:0:0:a'],
    ]
    for (const [first, ...others] of same) {
      for (const other of others) expect(canonicalAddress(other), other).to.equal(first)
    }
  })

  it('does not exist for other text, or with a zone', () => {
    for (const text of ['fe80::1%eth0', 'localhost', '127.1', '[::1]', '']) {
      expect(canonicalAddress(text), text).to.equal(undefined)
    }
  })
})

function isPublicByNumber(address: string): boolean {
  const at = numberOf(address)
  return !special.some(
    ([first, last]) => isIPv6(first) === isIPv6(address) && numberOf(first) <= at && at <= numberOf(last),
  )
}

/** The number that an address without a dotted part is. */
function numberOf(address: string): bigint {
  if (!isIPv6(address)) return address.split('.').reduce((sum, part) => sum * 256n + BigInt(part), 0n)
  const [left = '', right] = address.split('::')
  const groups = (part: string) => (part === '' ? [] : part.split(':'))
  const after = right === undefined ? [] : groups(right)
  const zeros = right === undefined ? 0 : 8 - groups(left).length - after.length
  const all = [...groups(left), ...Array<string>(zeros).fill('0'), ...after]
  return all.reduce((sum, group) => sum * 65_536n + BigInt(`0x${group}`), 0n)
}

/** Undefined for a number that is too small or too large. */
function ipv4Of(at: bigint): string | undefined {
  if (at < 0n || at >= 2n ** 32n) return undefined
  return [24n, 16n, 8n, 0n].map((bits) => (at >> bits) & 255n).join('.')
}

function ipv6Of(at: bigint): string | undefined {
  if (at < 0n || at >= 2n ** 128n) return undefined
  return [112n, 96n, 80n, 64n, 48n, 32n, 16n, 0n].map((bits) => ((at >> bits) & 65_535n).toString(16)).join(':')
}
