/** Times that clients send: those of days that there are, in every place that takes one. */

import { expect } from 'chai'
import { isDateTime } from '../../server/http/contract/validation.ts'
import { newNode } from '../support/node.ts'
import { useWorld } from '../support/world.ts'

describe('a time', () => {
  it('is of a day that the calendar has', () => {
    for (const [year, february] of [
      ['1900', 28],
      ['2000', 29],
      ['2024', 29],
      ['2026', 28],
      ['0000', 29],
      ['9999', 28],
    ] as const) {
      const lengths = [31, february, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31]
      for (let month = 0; month <= 13; month++)
        for (let day = 0; day <= 32; day++) {
          const date = [year, ...[month, day].map((number) => String(number).padStart(2, '0'))].join('-')
          expect(isDateTime(`${date}T12:00:00Z`), date).to.equal(day >= 1 && day <= (lengths[month - 1] ?? 0))
        }
    }
  })

  it('has hours, minutes, seconds and an offset', () => {
    for (const time of ['00:00:00Z', '23:59:59.999999999Z', '12:00:00+05:30', '12:00:00-0800', '12:00:00z'])
      expect(isDateTime(`2026-01-31T${time}`), time).to.equal(true)
    for (const time of [
      '24:00:00Z',
      '23:60:00Z',
      '23:59:60Z',
      '12:00Z',
      '12:00:00',
      '12:00:00+24:00',
      '12:00:00.Z',
      '12:00:00Z ',
    ])
      expect(isDateTime(`2026-01-31T${time}`), time).to.equal(false)
  })

  describe('over HTTP', () => {
    const { grove, ann } = useWorld({ ann: 'owner' })

    it('that is invalid is 422 everywhere', async () => {
      const none = '2026-02-30T00:00:00Z'
      const { at, org } = await newNode(grove, ann)
      const search = (scope: object) => ann.post(`/orgs/${org}/search/retrieve`, { query: 'x', scope })
      const token = { name: 'x', access: 'read', expires_at: '2096-02-30T00:00:00Z' }
      const answers = [
        await ann.get(`${at}/tree/main/commits?since=${none}`),
        await ann.get(`${at}/tree/main/commits?until=${none}`),
        ...[await search({ at: none }), await search({ updated_after: none }), await search({ updated_before: none })],
        await ann.post('/auth/tokens', token),
        await ann.post(`/orgs/${org}/invitations`, { role: 'reader', expires_at: token.expires_at }),
      ]
      const found = answers.map(({ status, body }) => [status, body.detail[0].loc.at(-1), body.detail[0].type])
      expect(found).to.deep.equal(
        ['since', 'until', 'at', 'updated_after', 'updated_before', 'expires_at', 'expires_at'].map((name) => [
          422,
          name,
          'datetime_parsing',
        ]),
      )
    })
  })
})
