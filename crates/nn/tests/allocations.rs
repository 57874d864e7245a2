//! K-FAC, networks on pixels, and the memory they ask for: counted, since small allocations in an inner loop do not
//! show otherwise.
//!
//! What is left is the crate `gemm`'s own packing. The kernels of this crate, which need none, were tried in its place:
//! on three layers of 17 to 64 to 64 to 6 a step then asks for no memory instead of 24 times, but takes 150 us instead
//! of 126 us (fastest of 300, dev profile), since rows of 65 numbers fill their registers badly.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

use epgt_nn::{Activation, Cnn, ConvShape, Kfac, Mlp, Parameters};
use epgt_rng::Pcg64;

thread_local! {
    static ALLOCATIONS: Cell<u64> = const { Cell::new(0) };
}

/// The system's allocator, which counts what this thread asks for.
struct Counting;

// SAFETY: everything is passed on to the system's allocator as it is; counting touches no memory that it hands out.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        ALLOCATIONS.with(|count| count.set(count.get() + 1));
        // SAFETY: the caller's promises are the system allocator's.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        // SAFETY: as above.
        unsafe { System.dealloc(pointer, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

fn allocations(call: impl FnOnce()) -> u64 {
    let before = ALLOCATIONS.with(Cell::get);
    call();
    ALLOCATIONS.with(Cell::get) - before
}

#[test]
fn between_two_decompositions_only_matrix_products_allocate() {
    let (sizes, batch) = ([17, 64, 64, 6], 320);
    let mut params = Parameters::new();
    let mut rng = Pcg64::from_seed(0);
    let (hidden, output) = (Activation::Tanh, Activation::Identity);
    let mut net = Mlp::new(&mut params, "net", &sizes, hidden, output, 1.0, 1.0, &mut rng);
    let mut kfac = Kfac::new();
    for layer in net.layers() {
        kfac.add_linear(layer);
    }
    let mut normals = |count| -> Vec<f32> { (0..count).map(|_| rng.standard_normal() as f32).collect() };
    let (inputs, gradients) = (normals(batch * 17), normals(batch * 6));
    let layers = 3;
    for step in 0..5 {
        net.forward(&params, &inputs, batch);
        let backward = allocations(|| {
            net.backward(&mut params, &gradients);
        });
        let observing = allocations(|| kfac.observe(net.layers()));
        let stepping = allocations(|| {
            kfac.step(&mut params).unwrap();
        });
        // The first round grows the buffers and decomposes. Each product may ask twice: two products a layer, then
        // four.
        if step > 0 {
            assert_eq!(backward, 0, "a backward pass");
            assert!(
                observing <= 2 * 2 * layers,
                "observing asks for memory {observing} times"
            );
            assert!(stepping <= 2 * 4 * layers, "a step asks for memory {stepping} times");
        }
    }
}

#[test]
fn a_network_on_pixels_asks_for_memory_once() {
    let convs = [(16, 8, 4), (32, 4, 2)].map(|(outputs, kernel, stride)| ConvShape {
        outputs,
        kernel,
        stride,
    });
    let (mut params, mut rng) = (Parameters::new(), Pcg64::from_seed(0));
    let relu = Activation::Relu;
    let mut net = Cnn::new(&mut params, "trunk", [2, 44, 44], &convs, &[32], relu, 1.0, &mut rng);
    let images = vec![100; 9 * 2 * 44 * 44];
    let gradient = vec![1.0; 9 * 32];
    for (round, batch) in [9, 9, 4, 9].into_iter().enumerate() {
        let asked = allocations(|| {
            net.forward(&params, &images[..batch * 2 * 44 * 44], batch);
            net.backward(&mut params, &gradient[..batch * 32]);
        });
        assert!(round == 0 || asked == 0, "round {round} asks {asked} times");
    }
}
