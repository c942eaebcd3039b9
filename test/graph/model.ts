/** A graph as the rules of parents say that it is, and its counts. */

export interface Counted {
  readonly id: string
  readonly num_parents: number
  readonly num_children: number
  readonly num_ancestors: number
  readonly num_descendants: number
}

export function countsOf({ num_parents, num_children, num_ancestors, num_descendants }: Counted): Omit<Counted, 'id'> {
  return { num_parents, num_children, num_ancestors, num_descendants }
}

export const size = 8

export interface Change {
  readonly kind: 'put' | 'remove' | 'delete'
  readonly child: number
  readonly parent: number
}

/** The result by the rules, from the simplest walk. */
export class Model {
  readonly alive = new Set(Array.from({ length: size }, (_, at) => at))
  /** `<parent> <child>`, of living children; the parent may be gone. */
  private readonly edges = new Set<string>()

  /** The status that the change answers. */
  change({ kind, child, parent }: Change): number {
    const edge = `${parent} ${child}`
    if (!this.alive.has(child)) return 404
    if (kind === 'delete') {
      this.alive.delete(child)
      for (const known of [...this.edges]) if (known.endsWith(` ${child}`)) this.edges.delete(known)
      return 204
    }
    if (kind === 'remove') return this.edges.delete(edge) ? 204 : 404
    if (!this.alive.has(parent)) return 404
    if (parent === child || this.reached(child, 'down').has(parent)) return 422
    this.edges.add(edge)
    return 200
  }

  visibleEdges(): string[] {
    return [...this.edges].filter((edge) => edge.split(' ').every((end) => this.alive.has(Number(end))))
  }

  counts(): Map<number, Omit<Counted, 'id'>> {
    const counts = [...this.alive].map((node): [number, Omit<Counted, 'id'>] => [
      node,
      {
        num_parents: this.next(node, 'up').length,
        num_children: this.next(node, 'down').length,
        num_ancestors: this.reached(node, 'up').size,
        num_descendants: this.reached(node, 'down').size,
      },
    ])
    return new Map(counts)
  }

  private next(node: number, direction: 'up' | 'down'): number[] {
    const ends = this.visibleEdges().map((edge) => edge.split(' ').map(Number))
    return ends.flatMap(([parent = -1, child = -1]) => {
      if (direction === 'up') return child === node ? [parent] : []
      return parent === node ? [child] : []
    })
  }

  private reached(node: number, direction: 'up' | 'down'): Set<number> {
    const reached = new Set(this.next(node, direction))
    for (const one of reached) for (const next of this.next(one, direction)) reached.add(next)
    return reached
  }
}
