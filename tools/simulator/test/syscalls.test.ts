import { expect, it } from "vitest";
import { Syscalls } from "../syscalls.js";

function open() {
  const log: string[] = [];
  let rounds = 0;
  const syscalls = new Syscalls(() => rounds++);
  const read = (name: string) => syscalls.read(() => log.push(`read ${name}`));
  const write = (name: string) => syscalls.alone(() => log.push(`write ${name}`));
  return { log, read, write, syscalls, rounds: () => rounds };
}

it("the syscalls of one function run all waiting reads before any write, so that two concurrent sequences both read the old row", async () => {
  const { log, read, write, rounds } = open();
  const sequence = async (name: string) => {
    await read(name);
    await write(name);
  };
  await Promise.all([sequence("a"), sequence("b"), write("c")]);
  expect(log).toEqual(["read a", "read b", "write c", "write a", "write b"]);
  expect(rounds()).toBe(1);
});

it("the syscalls of one function wait until the code is idle, however many microtasks it takes to issue a call", async () => {
  const { read, rounds } = open();
  const late = async () => {
    for (let i = 0; i < 100; i++) await Promise.resolve();
    await read("late");
  };
  await Promise.all([read("early"), late()]);
  expect(rounds()).toBe(1);
});

it("the syscalls of one function run exclusive calls one after another, and then the reads that arrived meanwhile", async () => {
  const { log, read, syscalls } = open();
  const other = async (name: string) => {
    await syscalls.alone(async () => {
      log.push(`${name} begins`);
      await new Promise((resolve) => setImmediate(resolve));
      log.push(`${name} ends`);
    });
  };
  await Promise.all([other("a"), other("b"), read("c")]);
  expect(log).toEqual(["read c", "a begins", "a ends", "b begins", "b ends"]);
});

it("the syscalls of one function reject the promise of the call that failed", async () => {
  const { read, syscalls } = open();
  const failing = syscalls.read(() => {
    throw new Error("no");
  });
  const [failed, done] = await Promise.allSettled([failing, read("a")]);
  expect([failed.status, done.status]).toEqual(["rejected", "fulfilled"]);
});
