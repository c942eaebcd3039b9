/** Samples of metrics in the text format of Prometheus, version 0.0.4. */

export interface Sample {
  readonly name: string
  readonly labels: Readonly<Record<string, string>>
  readonly value: number
}

/** Returns the samples of the named metrics. */
export function samplesIn(text: string, names: ReadonlySet<string>): Sample[] {
  const samples: Sample[] = []
  for (const line of text.split('\n')) {
    const [, name = '', labels = '', value] = /^([A-Za-z_:][\w:]*)(?:\{(.*)\})? (\S+)$/.exec(line) ?? []
    if (names.has(name)) samples.push({ name, labels: labelsIn(labels), value: Number(value) })
  }
  return samples
}

function labelsIn(text: string): Record<string, string> {
  const found = text.matchAll(/(\w+)="((?:[^"\\]|\\.)*)"/g)
  return Object.fromEntries([...found].map(([, name = '', value = '']) => [name, value]))
}
