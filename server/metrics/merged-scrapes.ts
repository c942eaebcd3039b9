/** Joins what several processes measure into one text for Prometheus. */

/** The samples of each metric of all `texts`, below one HELP and one TYPE. Each sample names its worker by a label. */
export function mergeScrapes(texts: readonly string[]): string {
  const metrics = new Map<string, { readonly head: string[]; readonly samples: string[] }>()
  for (const text of texts) {
    let metric: { readonly head: string[]; readonly samples: string[] } | undefined
    for (const line of text.split('\n')) {
      const [, kind, name] = /^# (HELP|TYPE) (\S+) /.exec(line) ?? []
      if (name === undefined) {
        if (line !== '') metric?.samples.push(line)
        continue
      }
      metric = metrics.get(name) ?? { head: [], samples: [] }
      metrics.set(name, metric)
      if (!metric.head.some((known) => known.startsWith(`# ${kind} `))) metric.head.push(line)
    }
  }
  return [...metrics.values()].map(({ head, samples }) => `${[...head, ...samples].join('\n')}\n`).join('\n')
}
