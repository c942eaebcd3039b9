/** Reads metrics as Prometheus does. */

export const metricsToken = 'metrics-of-the-tests'

/** The labels and the value of each series, by the name of its metric. */
export type Scrape = ReadonlyMap<string, readonly Sample[]>

interface Sample {
  readonly labels: Readonly<Record<string, string>>
  readonly value: number
}

/** @throws Error for a line of another format, or a metric that is described twice */
export function parseScrape(text: string): Scrape {
  const scrape = new Map<string, Sample[]>()
  for (const line of text.split('\n').filter((one) => one !== '')) {
    const [, kind, described = ''] = /^# (HELP|TYPE) (\S+) /.exec(line) ?? []
    if (kind === 'HELP' && scrape.has(described)) throw new Error(`${described} is described twice`)
    if (kind === 'HELP') scrape.set(described, [])
    if (kind !== undefined) continue
    const [, series = '', labels = '', value = ''] = /^(\w+)\{(.*)\} (\S+)$/.exec(line) ?? []
    const name = scrape.has(series) ? series : series.replace(/_(bucket|sum|count)$/, '')
    const samples = scrape.get(name)
    if (samples === undefined) throw new Error(`This is not a series of a described metric: ${line}`)
    samples.push({ labels: { ...labelsOf(labels), series }, value: Number(value) })
  }
  return scrape
}

function labelsOf(text: string): Record<string, string> {
  return Object.fromEntries([...text.matchAll(/(\w+)="([^"]*)"/g)].map(([, name = '', value = '']) => [name, value]))
}

/** The sum of the series that have these labels. */
export function sumOf(scrape: Scrape, name: string, wanted: Readonly<Record<string, string>> = {}): number {
  const samples = scrape.get(name) ?? []
  const matching = samples.filter(({ labels }) => Object.entries(wanted).every(([key, value]) => labels[key] === value))
  return matching.reduce((sum, { value }) => sum + value, 0)
}
