/** Replaces the package `events` in browsers. It has only what graphology and sigma use, in a tenth of the size. */

type Listener = (...values: unknown[]) => void

export class EventEmitter {
  /** Created with the first listener, because graphology's classes do not call constructors. */
  declare private lists: Map<string, readonly Listener[]> | undefined

  on(name: string, listener: Listener): this {
    this.lists ??= new Map()
    this.lists.set(name, [...(this.lists.get(name) ?? []), listener])
    return this
  }

  once(name: string, listener: Listener): this {
    const first: Listener = (...values) => {
      this.removeListener(name, first)
      listener.apply(this, values)
    }
    return this.on(name, first)
  }

  off(name: string, listener: Listener): this {
    const left = this.lists?.get(name)?.filter((one) => one !== listener) ?? []
    this.lists?.set(name, left)
    return this
  }

  addListener(name: string, listener: Listener): this {
    return this.on(name, listener)
  }

  removeListener(name: string, listener: Listener): this {
    return this.off(name, listener)
  }

  removeAllListeners(name?: string): this {
    if (name === undefined) this.lists?.clear()
    else this.lists?.delete(name)
    return this
  }

  emit(name: string, ...values: unknown[]): boolean {
    const listeners = this.lists?.get(name) ?? []
    for (const listener of listeners) listener.apply(this, values)
    return listeners.length > 0
  }

  listeners(name: string): readonly Listener[] {
    return this.lists?.get(name) ?? []
  }

  listenerCount(name: string): number {
    return this.listeners(name).length
  }

  setMaxListeners(): this {
    return this
  }
}
