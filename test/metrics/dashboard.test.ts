/** The dashboard and the alerts of server/deploy/ ask for metrics that exist, by labels that they have. */

import { readFile } from 'node:fs/promises'
import { expect } from 'chai'
import { parse } from 'yaml'
import { expecting } from '../support/node.ts'
import { client } from '../support/people.ts'
import { metricsToken, parseScrape, type Scrape } from '../support/scrapes.ts'
import { useWorld } from '../support/world.ts'
import { documentedMetrics } from './documented.ts'

interface Rule {
  readonly alert: string
  readonly expr: string
  readonly for?: string
  readonly labels: { readonly severity: string }
  readonly annotations: { readonly summary: string }
}

interface Panel {
  readonly title: string
  readonly type: string
  readonly targets?: readonly { readonly expr: string; readonly legendFormat: string }[]
}

/** Names of series in an expression of Prometheus. */
function namesIn(expression: string): string[] {
  return expression.match(/\b(grove|nodejs|process)_\w+/g) ?? []
}

describe('the files of server/deploy/ for metrics', () => {
  const { grove } = useWorld({}, { metricsToken })
  let scrape: Scrape
  let rules: readonly Rule[]
  let panels: readonly Panel[]

  before(async () => {
    scrape = parseScrape((await client(grove, metricsToken).get('/metrics').then(expecting(200))).body)
    rules = parse(await readFile('server/deploy/alerts.yml', 'utf8')).groups[0].rules
    panels = JSON.parse(await readFile('server/deploy/grafana.json', 'utf8')).panels
  })

  const expectServed = (expression: string) => {
    const names = namesIn(expression)
    expect(names, expression).to.not.deep.equal([])
    for (const name of names) {
      const isServed = scrape.has(name) || scrape.has(name.replace(/_(bucket|sum|count)$/, ''))
      expect(isServed, name).to.equal(true)
    }
  }

  it('alert on metrics that are served, and say how urgent it is and what it means', () => {
    expect(rules.length).to.be.within(8, 25)
    for (const { alert, expr, labels, annotations } of rules) {
      expectServed(expr)
      expect(['page', 'ticket'], alert).to.include(labels.severity)
      expect(annotations.summary, alert).to.match(/^[A-Z]/)
    }
    expect(new Set(rules.map(({ alert }) => alert)).size).to.equal(rules.length)
  })

  it('show metrics that are served, in four rows', () => {
    const rows = panels.filter(({ type }) => type === 'row').map(({ title }) => title)
    expect(rows).to.deep.equal(['Requests', 'Git', 'Indexing', 'Storage'])
    for (const { expr } of panels.flatMap(({ targets = [] }) => targets)) expectServed(expr)
  })

  it('show every metric that is documented', async () => {
    const expressions = panels.flatMap(({ targets = [] }) => targets.map(({ expr }) => expr)).join(' ')
    const shown = new Set(namesIn(expressions).map((name) => name.replace(/_(bucket|sum|count)$/, '')))
    for (const name of await documentedMetrics()) expect(shown, name).to.include(name)
  })

  it('name labels in their legends that their expressions keep', () => {
    for (const { expr, legendFormat } of panels.flatMap(({ targets = [] }) => targets)) {
      const kept = [...expr.matchAll(/by \(([\w, ]+)\)/g)].flatMap(([, labels = '']) => labels.split(', '))
      for (const [, label = ''] of legendFormat.matchAll(/\{\{(\w+)\}\}/g)) expect(kept, expr).to.include(label)
    }
  })
})
